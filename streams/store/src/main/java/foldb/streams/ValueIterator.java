package foldb.streams;

import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/** Yields the values of an iterator without their timestamps. */
class ValueIterator<K, V> implements KeyValueIterator<K, V> {
    private final KeyValueIterator<K, ValueAndTimestamp<V>> entries;

    ValueIterator(KeyValueIterator<K, ValueAndTimestamp<V>> entries) {
        this.entries = entries;
    }

    @Override
    public boolean hasNext() {
        return entries.hasNext();
    }

    @Override
    public KeyValue<K, V> next() {
        KeyValue<K, ValueAndTimestamp<V>> entry = entries.next();
        return KeyValue.pair(entry.key, entry.value.value());
    }

    @Override
    public K peekNextKey() {
        return entries.peekNextKey();
    }

    @Override
    public void close() {
        entries.close();
    }
}
