package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.MergeScenario.Event;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.KStream;
import org.junit.jupiter.api.io.TempDir;

/** Tests that run a topology into the store {@code store} on stock stores and as merges. */
abstract class ComparedMerges {
    @TempDir
    Path directory;

    final Properties merging(String guarantee, String operator) {
        Properties properties = MergeScenario.merging(directory.resolve("merging"), guarantee);
        properties.put("foldb.merge.store", operator);
        return properties;
    }

    final Properties stock(String guarantee) {
        return MergeScenario.stock(directory.resolve("stock"), guarantee);
    }

    /** Returns a configuration of stock stores with Streams' record cache. */
    final Properties cached(String guarantee) {
        Properties properties = MergeScenario.stock(directory.resolve("cached"), guarantee);
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 64 << 20);
        return properties;
    }

    /** Gives the same records to each, in a number of commits. */
    static void commitAll(int commits, MergeScenario... scenarios) {
        Random random = new Random(4);
        EventClock clock = new EventClock(random);
        for (int commit = 0; commit < commits; commit++) {
            List<Event> batch = clock.draw(1 + random.nextInt(60));
            for (MergeScenario scenario : scenarios) {
                scenario.commit(batch);
            }
        }
    }

    /** Checks that a topology does not merge, has the outputs of the stock, and logs the reason. */
    final void staysStock(String reason, Consumer<KStream<String, Long>> topology) {
        String log = MergingProcessorWrapperTest.logOf(() -> {
            try (MergeScenario stock =
                        MergeScenario.start(stock(StreamsConfig.AT_LEAST_ONCE), topology);
                    MergeScenario merging = MergeScenario.start(
                        merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
                commitAll(10, stock, merging);
                List<String> output = merging.output();
                assertTrue(output.size() > 10, "records came out: " + output.size());
                assertEquals(stock.output(), output);
                assertEquals(-1, merging.metric("merge-total"), "nothing merges");
            }
        });
        assertEquals(1, MergingProcessorWrapperTest.linesWith(
            "does not merge into store store: " + reason, log), log);
    }
}
