package foldb.streams;

/** A walk over entries of a window or session store. */
interface TimedEntries extends AutoCloseable {
    /** No entries. */
    TimedEntries NONE = new TimedEntries() {
        @Override
        public TimedKey next() {
            return null;
        }

        @Override
        public byte[] value() {
            throw new IllegalStateException("there are no entries");
        }

        @Override
        public void close() {}
    };

    /**
     * Moves to the next entry.
     *
     * @return its key, or null after the last entry
     * @throws org.apache.kafka.streams.errors.InvalidStateStoreException if the store is closed
     * @throws org.apache.kafka.streams.errors.ProcessorStateException if the engine fails
     */
    TimedKey next();

    /** The value of the entry that {@link #next} has moved to, or null if it has none any more. */
    byte[] value();

    @Override
    void close();
}
