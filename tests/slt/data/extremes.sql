CREATE TABLE extremes (
  name VARCHAR,
  i8 TINYINT,
  i16 SMALLINT,
  i32 INT,
  i64 BIGINT,
  f32 FLOAT,
  f64 DOUBLE,
  money DECIMAL(18,2),
  wide DECIMAL(38,0)
);
