package foldb.streams;

import foldb.streams.engine.FoldbException;
import foldb.streams.engine.Sketch;
import java.util.Arrays;
import org.apache.kafka.common.errors.SerializationException;

/**
 * The bytes of the operator {@code hyperloglog}, for stores whose values are {@code byte[]}. A
 * value counts different elements in at most 16 KiB.
 */
public final class SketchOperands {
    private SketchOperands() {
    }

    /**
     * Makes the operand that counts these elements. It is also the value that has counted them.
     *
     * @param elements the bytes of each element
     * @return the operand
     */
    public static byte[] of(byte[]... elements) {
        return Sketch.of(Arrays.asList(elements));
    }

    /**
     * Estimates how many different elements a value has counted.
     *
     * @param value the value of a store with the operator {@code hyperloglog}
     * @return the estimate; the standard error is 0.81 %
     * @throws SerializationException if the bytes are not a sketch
     */
    public static double estimate(byte[] value) {
        try {
            return Sketch.estimate(value);
        } catch (FoldbException e) {
            throw new SerializationException("The value is not a sketch (" + e.getMessage()
                + "): read only values of stores with the operator hyperloglog", e);
        }
    }
}
