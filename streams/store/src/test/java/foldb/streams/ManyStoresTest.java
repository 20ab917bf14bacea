package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Many stores of a process share threads and memory. */
@EnabledOnOs(OS.LINUX)
@NeedsOffsetsInStores
class ManyStoresTest {
    private static final int STORES = 100;
    private static final Pattern LINE =
        Pattern.compile("(new|reopened) .*idle_kib (-?\\d+) .*threads (\\d+)");

    /** A third of the bound for 300 stores, and the memory that shared parts take once. */
    private static final long IDLE_KIB = (100 << 10) / 3 + (16 << 10);

    @TempDir
    Path directory;

    @Test
    void idleStoresTakeLittleMemoryAndNoThreads() throws Exception {
        final List<String> lines = run(STORES);
        assertEquals(2, lines.size(), lines.toString());
        for (final String line : lines) {
            final Matcher numbers = LINE.matcher(line);
            assertTrue(numbers.find(), line);
            assertTrue(Long.parseLong(numbers.group(2)) < IDLE_KIB, line);
            assertTrue(Long.parseLong(numbers.group(3)) < 40, line);
        }
    }

    private List<String> run(final int stores) throws Exception {
        final Process process = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m",
            "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"),
            ManyStores.class.getName(), directory.toString(), "" + stores, "foldb")
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader output =
            new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            final List<String> lines =
                output.lines().filter(line -> LINE.matcher(line).find()).toList();
            assertTrue(process.waitFor(60, TimeUnit.SECONDS));
            assertEquals(0, process.exitValue());
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }
}
