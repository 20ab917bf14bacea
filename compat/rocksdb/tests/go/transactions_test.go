package rocksdb

import (
	"strings"
	"testing"

	"github.com/linxGnu/grocksdb"
)

func isKind(t *testing.T, err error, kind string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), kind) {
		t.Fatalf("found %v, expected %s", err, kind)
	}
}

func TestPessimisticTransactionLocks(t *testing.T) {
	locking := grocksdb.NewDefaultTransactionDBOptions()
	locking.SetDefaultLockTimeout(20)
	locking.SetTransactionLockTimeout(20)
	db, err := grocksdb.OpenTransactionDb(creating(), locking, t.TempDir())
	must(t, err)
	defer db.Close()
	options := grocksdb.NewDefaultTransactionOptions()
	one := db.TransactionBegin(writes, options, nil)
	defer one.Destroy()
	must(t, one.Put([]byte("key"), []byte("of one")))
	isKind(t, db.Put(writes, []byte("key"), []byte("from outside")), "Operation timed out: ")
	two := db.TransactionBegin(writes, options, nil)
	defer two.Destroy()
	isKind(t, two.Delete([]byte("key")), "Operation timed out: ")
	must(t, one.Commit())
	must(t, two.Delete([]byte("key")))
	must(t, two.Rollback())
	value, err := db.Get(reads, []byte("key"))
	must(t, err)
	defer value.Free()
	holds(t, value.Data(), nil, "of one")
}

func TestOptimisticTransactionConflicts(t *testing.T) {
	db, err := grocksdb.OpenOptimisticTransactionDb(creating(), t.TempDir())
	must(t, err)
	defer db.Close()
	base := db.GetBaseDB()
	defer db.CloseBaseDB(base)
	options := grocksdb.NewDefaultOptimisticTransactionOptions()
	one := db.TransactionBegin(writes, options, nil)
	defer one.Destroy()
	must(t, one.Put([]byte("key"), []byte("of one")))
	must(t, base.Put(writes, []byte("key"), []byte("from outside")))
	isKind(t, one.Commit(), "Resource busy: ")
	value, err := base.GetBytes(reads, []byte("key"))
	holds(t, value, err, "from outside")
}
