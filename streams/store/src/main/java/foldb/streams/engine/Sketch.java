package foldb.streams.engine;

import java.util.List;

/** The sketches of the operator {@code hyperloglog}. This class is internal to foldb-streams. */
public final class Sketch {
    private Sketch() {
    }

    /**
     * Makes the sketch that has counted these elements.
     *
     * @param elements the bytes of each element
     * @return the sketch
     */
    public static byte[] of(final List<byte[]> elements) {
        final Packed packed = new Packed(64 * elements.size());
        elements.forEach(element -> packed.entry(element, null));
        NativeLibrary.load();
        return Native.sketch(packed.toArray());
    }

    /**
     * Estimates how many different elements a sketch has counted.
     *
     * @param sketch the sketch
     * @return the estimate; the standard error is 0.81 %
     * @throws FoldbException if the bytes are not a sketch
     */
    public static double estimate(final byte[] sketch) {
        NativeLibrary.load();
        return Double.longBitsToDouble(Native.estimate(sketch));
    }
}
