package foldb.streams;

/** The two orders in which a store keeps the entries of one interval. */
enum KeyOrder {
    /** By time, then by key. */
    BY_TIME((byte) 0),
    /** By key, then by time. */
    BY_KEY((byte) 1);

    /** The byte between the interval and the key. It keeps the two orders of a store apart. */
    final byte tag;

    KeyOrder(final byte tag) {
        this.tag = tag;
    }
}
