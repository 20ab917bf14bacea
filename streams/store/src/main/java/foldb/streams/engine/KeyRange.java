package foldb.streams.engine;

/**
 * A range of keys in byte order. Null stands for no bound.
 *
 * @param from the first key of the range
 * @param toExclusive the first key after the range
 */
public record KeyRange(byte[] from, byte[] toExclusive) {
}
