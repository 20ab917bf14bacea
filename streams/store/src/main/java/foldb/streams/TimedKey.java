package foldb.streams;

import org.apache.kafka.common.utils.Bytes;

/**
 * The key of one entry of a window or session store.
 *
 * @param key the key of the record
 * @param time the time that decides when the entry expires, in milliseconds: the start of a
 *     window, the end of a session
 * @param rest what tells apart entries of the same key and time: the number of a duplicate in a
 *     window store, the start of a session in milliseconds
 */
record TimedKey(Bytes key, long time, long rest) {}
