# Sums sales by region and by product: sqlite.sh SALES.csv SALES.db SUMS.csv
set -eu
sqlite3 "$2" <<END
.output /dev/null
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
.output stdout
CREATE TABLE sales (sale INTEGER PRIMARY KEY, region TEXT, product TEXT, cents INTEGER);
.import --csv --skip 1 "$1" sales
.mode tabs
SELECT region, sum(cents) FROM sales GROUP BY region ORDER BY region;
SELECT product, sum(cents) FROM sales GROUP BY product ORDER BY 2 DESC, product LIMIT 10;
.mode csv
.headers on
.output "$3"
SELECT region, sum(cents) AS cents FROM sales GROUP BY region ORDER BY region;
END
