package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process whose platform has no library, or whose library cannot be loaded. */
class MissingLibraryTest {
    @TempDir
    Path directory;

    /** Opens a store twice, and prints the exceptions. */
    static final class Opener {
        private Opener() {
        }

        public static void main(final String[] arguments) {
            for (int i = 0; i < 2; i++) {
                try {
                    new TestStores(Path.of(arguments[0]).toFile(), StreamsConfig.AT_LEAST_ONCE)
                        .open(FoldbStores.keyValueStore("store").get());
                } catch (final ProcessorStateException error) {
                    System.out.println("refused: " + error.getMessage());
                }
            }
        }
    }

    private void refusedTwice(final String option, final String told) throws Exception {
        final String printed =
            ChildJvm.run(List.of(option), Opener.class, directory.toString());
        final List<String> refused =
            printed.lines().filter(line -> line.startsWith("refused: ")).toList();
        assertEquals(2, refused.size(), printed);
        for (final String line : refused) {
            assertTrue(line.contains("store") && line.contains(told), line);
        }
    }

    @Test
    void eachOpenNamesThePlatformWithoutALibrary() throws Exception {
        refusedTwice("-Dos.arch=sparcv9", "no library for the platform linux-sparcv9");
    }

    @Test
    void eachOpenNamesTheLibraryThatCannotBeLoaded() throws Exception {
        refusedTwice("-Dfoldb.native.library=/nowhere/lib.so", "'/nowhere/lib.so'");
    }
}
