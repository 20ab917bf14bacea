module foldb.invalid/rocksdb

go 1.24

require github.com/linxGnu/grocksdb v1.10.2
