package foldb.streams;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.errors.SerializationException;

/**
 * The bytes of the operator {@code set}, for stores whose values are {@code byte[]}.
 *
 * <pre>
 * operand: any number of ['+' or '-'] [length varint] [member]; value: the same, with '+' only
 * </pre>
 *
 * <p>Members are strictly ascending. The newest change of a member decides whether the set has it.
 * A set that loses its last member stays as an empty value.
 */
public final class SetOperands {
    private static final byte ADD = '+';
    private static final byte REMOVE = '-';

    private SetOperands() {
    }

    /**
     * Makes the operand that adds a member. It is also the value that holds only this member.
     *
     * @param member the member's bytes
     * @return the operand
     */
    public static byte[] add(byte[] member) {
        return change(ADD, member);
    }

    /**
     * Makes the operand that removes a member.
     *
     * @param member the member's bytes
     * @return the operand
     */
    public static byte[] remove(byte[] member) {
        return change(REMOVE, member);
    }

    /**
     * Returns the members of a value, ascending in the order of their unsigned bytes.
     *
     * @param value the value of a store with the operator {@code set}
     * @return the members
     * @throws SerializationException if the bytes are not a set
     */
    public static List<byte[]> members(byte[] value) {
        List<byte[]> members = new ArrayList<>();
        int at = 0;
        while (at < value.length) {
            byte sign = value[at++];
            int length = 0;
            for (int shift = 0; ; shift += 7) {
                if (at == value.length || shift > 28) {
                    throw malformed(at);
                }
                byte next = value[at++];
                length |= (next & 0x7f) << shift;
                if (next >= 0) {
                    break;
                }
            }
            if (sign != ADD && sign != REMOVE || length < 0 || length > value.length - at) {
                throw malformed(at);
            }
            if (sign == ADD) {
                members.add(Arrays.copyOfRange(value, at, at + length));
            }
            at += length;
        }
        return members;
    }

    private static SerializationException malformed(int at) {
        return new SerializationException("The bytes at offset " + at + " are not a member of a"
            + " set: read only values of stores with the operator set");
    }

    private static byte[] change(byte sign, byte[] member) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(member.length + 6);
        out.write(sign);
        int rest = member.length;
        while (rest >= 0x80) {
            out.write(rest & 0x7f | 0x80);
            rest >>>= 7;
        }
        out.write(rest);
        out.write(member, 0, member.length);
        return out.toByteArray();
    }
}
