package foldb.streams;

import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;

/** The innermost store of a merge: what its {@link Merges} and the views of processors need. */
interface MergingStore extends StateStore {
    /** Returns the store's merges. */
    Merges merges();

    /**
     * Puts folded values into the database and logs them. The put gives later folds a base, so that
     * they read no older operands. Sessions and the values of new keys are written elsewhere.
     *
     * @param entries the stored keys and their values
     */
    void putFolded(List<KeyValue<Bytes, byte[]>> entries);

    /** Logs one entry of {@link #putFolded}, in the context of its newest record. */
    default void logFolded(Bytes stored, byte[] value) {
    }

    /** Returns the key under which a stored key is logged and forwarded. */
    byte[] loggedKey(Bytes stored);

    /** Shows a key and its window to the user. */
    default Object show(Object key, Bytes stored) {
        return key;
    }

    /** Runs after a fold of all dirty keys. */
    default void folded() {
    }
}
