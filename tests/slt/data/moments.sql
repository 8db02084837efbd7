CREATE TABLE moments (
  id INT,
  d DATE,
  t TIMESTAMP,
  zone VARCHAR
);
