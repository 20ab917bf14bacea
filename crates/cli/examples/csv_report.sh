# Sums sales by region and by product: csv_report.sh SALES.csv SALES.db SUMS.csv
# The rows of SALES.csv are: sale,region,product,cents. It needs `foldb` and `sort`.
set -eu
foldb keyspaces "$2" --create regions --operator int64add
foldb keyspaces "$2" --create products --operator int64add
foldb import --from csv "$1" "$2" --keyspace regions --key region --value cents --merge int64add
foldb import --from csv "$1" "$2" --keyspace products --key product --value cents --merge int64add
foldb scan "$2" --keyspace regions
foldb scan "$2" --keyspace products | sort -t "$(printf '\t')" -k 2nr,2 -k 1,1 | head -n 10
foldb export --to csv "$2" "$3" --keyspace regions --key region --value cents
