package foldb.streams;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.internals.Murmur3;

/**
 * The keys that an interval may have: a Bloom filter that grows.
 *
 * <p>Each record of a session store looks for the sessions of its key, and the fold of a window for
 * the window's value. Most keys of many applications have none, and this filter spares them the
 * read. It never denies a key that was added.
 *
 * <p>The filter has layers, each for four times as many keys as the one before. A layer consists of
 * blocks of 64 bytes. A key sets one bit in each of the eight words of one block, so a look reads
 * one or two cache lines of each layer. The source is Putze, Sanders and Singler, "Cache-, Hash-
 * and Space-Efficient Bloom Filters" (2007), in the form of the filters of Apache Parquet. With 16
 * bits for a key, a full layer takes about one of 1000 other keys for its own.
 *
 * <p>The hash is not the one by which producers choose partitions: keys of one partition have few
 * of its values.
 *
 * <p>One thread at a time adds keys and ends the filter, and other threads may ask. A writer adds
 * the key before the entry. So a reader that knows of the entry finds its key.
 */
final class KeyFilter {
    /** The filter of an interval whose keys are unknown. */
    static final KeyFilter EVERY_KEY = new KeyFilter(null, null);

    /**
     * The most keys of a filter: 2.7 MiB of layers. With more, or if {@link FilterTotal} has no
     * memory for a layer, every key may be there.
     */
    static final int MOST_KEYS = keysBefore(6);

    private static final int FIRST_LAYER = 1 << 10;
    private static final int GROWTH = 4;
    private static final int KEYS_PER_BLOCK = 32;
    private static final int WORDS_PER_BLOCK = 8;
    /** Bits of a hash that name a bit of a word. */
    private static final int PER_WORD = 6;

    /** {@code null} if every key may be there. */
    private volatile AtomicLongArray[] layers;
    private final FilterTotal.Part memory;
    private int keys;
    private long bytes;

    private KeyFilter(final AtomicLongArray[] layers, final FilterTotal.Part memory) {
        this.layers = layers;
        this.memory = memory;
    }

    /** Returns a filter without keys, which takes the bytes of its layers from {@code memory}. */
    static KeyFilter empty(final FilterTotal.Part memory) {
        return new KeyFilter(new AtomicLongArray[0], memory);
    }

    /** Returns how many keys this many layers take. */
    private static int keysBefore(final int layers) {
        int sum = 0;
        for (int layer = 0; layer < layers; layer++) {
            sum = sum * GROWTH + FIRST_LAYER;
        }
        return sum;
    }

    /**
     * Adds a key.
     *
     * @return whether the key was certainly not there
     */
    boolean add(final Bytes key) {
        final AtomicLongArray[] present = layers;
        if (present == null) {
            return false;
        }
        final long hash = hash(key);
        if (has(present, hash)) {
            return false;
        }
        final boolean isFull = keys == keysBefore(present.length);
        if (keys == MOST_KEYS || isFull && !takesLayer(present.length)) {
            end();
        } else {
            set(isFull ? grown(present) : last(present), hash);
            keys++;
        }
        return true;
    }

    /** Ends the knowledge of keys, and gives the memory back. Every key may be there then. */
    void end() {
        // The filter of every key is shared by threads, which only read it.
        if (layers != null) {
            layers = null;
        }
        if (bytes > 0) {
            memory.give(bytes);
            bytes = 0;
        }
    }

    private boolean takesLayer(final int layer) {
        final long more = (long) words(layer) * Long.BYTES;
        if (!memory.take(more)) {
            return false;
        }
        bytes += more;
        return true;
    }

    /** Returns how many words a layer has. */
    private static int words(final int layer) {
        final int size = keysBefore(layer + 1) - keysBefore(layer);
        return size / KEYS_PER_BLOCK * WORDS_PER_BLOCK;
    }

    /** Returns whether a key may have been added. */
    boolean mayHave(final Bytes key) {
        final AtomicLongArray[] present = layers;
        return present == null || has(present, hash(key));
    }

    private AtomicLongArray grown(final AtomicLongArray[] present) {
        final int layer = present.length;
        final AtomicLongArray[] more = Arrays.copyOf(present, layer + 1);
        more[layer] = new AtomicLongArray(words(layer));
        layers = more;
        return more[layer];
    }

    private static AtomicLongArray last(final AtomicLongArray[] layers) {
        return layers[layers.length - 1];
    }

    private static long hash(final Bytes key) {
        return Murmur3.hash64(key.get());
    }

    /** Returns bits for the words that do not depend on those that choose the block. */
    private static long mix(final long hash) {
        final long product = (hash ^ (hash >>> 32)) * 0x9E3779B97F4A7C15L;
        return product ^ (product >>> 29);
    }

    private static boolean has(final AtomicLongArray[] layers, final long hash) {
        // The last layer has most of the keys.
        for (int layer = layers.length - 1; layer >= 0; layer--) {
            if (has(layers[layer], hash)) {
                return true;
            }
        }
        return false;
    }

    private static boolean has(final AtomicLongArray layer, final long hash) {
        final int block = block(layer, hash);
        long bits = mix(hash);
        for (int word = block; word < block + WORDS_PER_BLOCK; word++) {
            // Opaque: a reader that knows of the entry comes after the writer anyway.
            if ((layer.getOpaque(word) & 1L << bits) == 0) {
                return false;
            }
            bits >>>= PER_WORD;
        }
        return true;
    }

    private static void set(final AtomicLongArray layer, final long hash) {
        final int block = block(layer, hash);
        long bits = mix(hash);
        for (int word = block; word < block + WORDS_PER_BLOCK; word++) {
            layer.setOpaque(word, layer.getOpaque(word) | 1L << bits);
            bits >>>= PER_WORD;
        }
    }

    /** Returns the first word of the block of a key. The number of blocks is a power of two. */
    private static int block(final AtomicLongArray layer, final long hash) {
        final int blocks = layer.length() / WORDS_PER_BLOCK;
        return ((int) (hash >>> 32) & blocks - 1) * WORDS_PER_BLOCK;
    }
}
