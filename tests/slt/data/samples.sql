CREATE TABLE samples (
  id INT,
  g VARCHAR,
  k INT,
  n BIGINT,
  x DOUBLE,
  m DECIMAL(10,2),
  t VARCHAR,
  d DATE,
  moment TIMESTAMP,
  small TINYINT
);
