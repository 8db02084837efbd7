CREATE TABLE empty (
  a BIGINT,
  b VARCHAR,
  c DOUBLE,
  d DATE
);
