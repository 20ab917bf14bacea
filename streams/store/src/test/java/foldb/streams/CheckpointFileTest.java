package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.engine.Database;
import foldb.streams.engine.Options;
import java.io.File;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.state.internals.OffsetCheckpoint;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The offsets of Streams before 4.3, which does not know whose data they belong to. */
class CheckpointFileTest {
    private static final TopicPartition OWN = new TopicPartition("test-store-changelog", 0);
    private static final TopicPartition OTHER = new TopicPartition("test-other-changelog", 0);

    @TempDir
    Path directory;

    private OffsetCheckpoint streams;
    private CheckpointFile file;

    @BeforeEach
    void make() {
        streams = new OffsetCheckpoint(new File(directory.toFile(), ".checkpoint"));
        file = new CheckpointFile(streams, OWN);
    }

    private Database database() {
        return Database.open(directory.resolve("database"), new Options(null, false, 32 << 20));
    }

    private void write(final long own) throws Exception {
        streams.write(new HashMap<>(Map.of(OWN, own, OTHER, 99L)));
    }

    @Test
    void anOffsetWithoutDataIsRemoved() throws Exception {
        write(42);
        try (Database database = database()) {
            assertTrue(file.lower(database), file.toString());
            assertEquals(Map.of(OTHER, 99L), streams.read());
            assertFalse(file.lower(database));
        }
    }

    @Test
    void anOffsetBeyondTheDataIsLowered() throws Exception {
        try (Database database = database()) {
            write(7);
            database.commit(file.written(), null);
            write(42);
            assertTrue(file.lower(database), file.toString());
            assertEquals(Map.of(OWN, 7L, OTHER, 99L), streams.read());
        }
    }

    @Test
    void theOwnOffsetStays() throws Exception {
        try (Database database = database()) {
            assertFalse(file.lower(database), "there is no file");
            assertEquals(Map.of(), file.written());
            write(42);
            database.commit(file.written(), null);
            assertFalse(file.lower(database));
            assertEquals(Map.of(OWN, 42L, OTHER, 99L), streams.read());
        }
    }
}
