package foldb.streams;

import foldb.streams.engine.Database;
import java.io.File;
import java.io.IOException;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.state.internals.OffsetCheckpoint;

/**
 * The file {@code .checkpoint}, where Streams before 4.3 keeps the offsets of a task's stores. It
 * does not say whose data an offset belongs to: a stock store may have run last, and a database may
 * have lost writes to a power failure.
 *
 * <p>So a store keeps its own offset too, in its log behind the data that it covers. It copies it
 * from the file when Streams has written the file: at the next flush, and at the close. An open
 * lowers the offset in the file to the own one, or removes it where there is none. Streams reads
 * the file after it has opened all stores of the task.
 */
final class CheckpointFile {
    private final OffsetCheckpoint file;
    private final TopicPartition changelog;

    /**
     * Makes the offsets of one store.
     *
     * @param changelog where the store's changes are logged; null if they are not
     */
    CheckpointFile(final OffsetCheckpoint file, final TopicPartition changelog) {
        this.file = file;
        this.changelog = changelog;
    }

    /**
     * Returns the file of a store's task.
     *
     * @param name the store's name
     */
    static CheckpointFile of(final StateStoreContext context, final String name) {
        final String topic = ProcessorContextUtils.changelogFor(context, name, false);
        return new CheckpointFile(
            new OffsetCheckpoint(new File(context.stateDir(), ".checkpoint")),
            topic == null ? null : new TopicPartition(topic, context.taskId().partition()));
    }

    /**
     * Lowers the offset in the file to that of the database.
     *
     * @return whether the file had an offset that the database lacks
     */
    boolean lower(final Database database) {
        final Map<TopicPartition, Long> offsets = read();
        final Long given = offsets.get(changelog);
        if (given == null) {
            return false;
        }
        final Long stored = database.offset(changelog.toString());
        final Long own = stored == null ? null : Long.valueOf(Math.min(stored, given));
        if (Objects.equals(own, given)) {
            return false;
        }
        if (own == null) {
            offsets.remove(changelog);
        } else {
            offsets.put(changelog, own);
        }
        try {
            file.write(offsets);
        } catch (final IOException error) {
            throw new ProcessorStateException("Cannot write " + file, error);
        }
        return true;
    }

    /** Returns the offset that Streams wrote last, for the own offsets; empty if it wrote none. */
    Map<String, Long> written() {
        final Long offset = read().get(changelog);
        return offset == null || offset < 0 ? Map.of() : Map.of(changelog.toString(), offset);
    }

    @Override
    public String toString() {
        return changelog + " in " + file;
    }

    private Map<TopicPartition, Long> read() {
        try {
            return changelog == null ? Map.of() : file.read();
        } catch (final IOException error) {
            throw new ProcessorStateException("Cannot read " + file, error);
        }
    }
}
