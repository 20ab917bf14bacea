package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A version of Kafka Streams that the wrapper does not know. */
class UnknownKafkaTest {
    private static final String VERSION = "999.0.0";

    @TempDir
    Path directory;

    /** Counts in a store with an operator, and prints the version and the count. */
    static final class Counter {
        private Counter() {
        }

        public static void main(final String[] arguments) {
            final Properties properties =
                MergeScenario.merging(Path.of(arguments[0]), StreamsConfig.AT_LEAST_ONCE);
            properties.put("foldb.merge.store", "sum");
            try (MergeScenario scenario = MergeScenario.start(properties, events -> events
                    .groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
                    .count(Materialized.as("store")).toStream()
                    .to("output", Produced.with(Serdes.String(), Serdes.Long())))) {
                scenario.commit(List.of(new MergeScenario.Event("a", 1L, 1),
                    new MergeScenario.Event("a", 1L, 2)));
                System.out.println("version " + KafkaVersions.present());
                System.out.println("outputs " + scenario.records("output").size());
                System.out.println("table " + scenario.table("store"));
            }
        }
    }

    @Test
    void theWrapperMergesNothingAndNamesTheKnownVersions() throws Exception {
        // Streams reads its version from this file. The first directory of a class path wins.
        final Path file = directory.resolve("classes/kafka/kafka-streams-version.properties");
        Files.createDirectories(file.getParent());
        Files.writeString(file, "version=" + VERSION + "\ncommitId=none\n");
        final String printed = ChildJvm.runAfter(
            directory.resolve("classes"), Counter.class, directory.resolve("state").toString());
        final List<String> lines = printed.lines().toList();
        assertTrue(lines.contains("version " + VERSION), printed);
        assertTrue(lines.contains("outputs 2"), "a merge has one output per commit: " + printed);
        final List<String> told = lines.stream()
            .filter(line -> line.contains("and this is " + VERSION)).toList();
        assertEquals(1, told.size(), printed);
        assertTrue(told.get(0).contains(String.join(", ", KafkaVersions.KNOWN)), printed);
        assertTrue(told.get(0).contains("store"), printed);
    }
}
