package foldb.streams.engine;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/**
 * Loads the native library of this platform out of the jar. The system property
 * {@code foldb.native.library} names another file.
 */
public final class NativeLibrary {
    /** The system property with the path of a library to load in place of that in the jar. */
    public static final String PROPERTY = "foldb.native.library";

    private static final String DIRECTORY = "foldb/native/";

    /** The list of the platforms whose libraries are in the jar, one a line. */
    private static final String LIST = DIRECTORY + "platforms.txt";

    private static volatile boolean isLoaded;

    private NativeLibrary() {
    }

    /**
     * Loads the library, once for the process. A call after a failed one tries again.
     *
     * @throws FoldbException if there is no library for this platform, or if it cannot be loaded;
     *         the message names the platform or the file
     */
    public static void load() {
        if (!isLoaded) {
            loadFirst(System.getProperty(PROPERTY), Platform.present());
        }
    }

    /**
     * Loads the library if no thread has loaded it meanwhile.
     *
     * @param given the file to load; null for that in the jar
     * @param platform the platform of this JVM
     */
    static synchronized void loadFirst(final String given, final Platform platform) {
        if (isLoaded) {
            return;
        }
        if (given != null) {
            loadFile(Path.of(given).toAbsolutePath(),
                "named by the system property " + PROPERTY + ",");
        } else {
            loadResource(platform);
        }
        isLoaded = true;
    }

    /** Copies the library of a platform out of the jar and loads it. */
    static void loadResource(final Platform platform) {
        final String resource = DIRECTORY + platform.name() + "/" + platform.file();
        try (InputStream library = resource(resource)) {
            if (library == null) {
                throw unsupported("the jar of foldb-streams has no library for the platform "
                    + platform.name() + ". It has libraries for " + listed() + ". Take a jar of"
                    + " 'cargo xtask streams build' on this platform, or name a library in the"
                    + " system property " + PROPERTY, null);
            }
            final String file = platform.file();
            final Path copy = Files.createTempFile("foldb_jni", file.substring(
                file.lastIndexOf('.')));
            try {
                Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
                loadFile(copy, "a copy of '" + resource + "' in the jar of foldb-streams,");
            } finally {
                // A mapped library needs no file on Linux. Elsewhere the file goes at the exit.
                if (!copy.toFile().delete()) {
                    copy.toFile().deleteOnExit();
                }
            }
        } catch (final IOException error) {
            throw unsupported("the library '" + resource + "' cannot be copied out of the jar of"
                + " foldb-streams into the directory of the system property java.io.tmpdir: "
                + error, error);
        }
    }

    /** Returns the platforms whose libraries are in the jar, as a text. */
    private static String listed() throws IOException {
        try (InputStream list = resource(LIST)) {
            if (list == null) {
                return "no platform";
            }
            final String names = new String(list.readAllBytes(), StandardCharsets.UTF_8);
            return String.join(", ", List.of(names.split("\\s+")));
        }
    }

    private static InputStream resource(final String name) {
        return NativeLibrary.class.getClassLoader().getResourceAsStream(name);
    }

    private static void loadFile(final Path file, final String origin) {
        try {
            System.load(file.toString());
        } catch (final UnsatisfiedLinkError error) {
            throw unsupported("the library '" + file + "', " + origin + " cannot be loaded: "
                + error.getMessage() + ". The platform is " + Platform.present().name()
                + ". If files there cannot be executed, set the system property java.io.tmpdir"
                + " to a directory where they can, or " + PROPERTY + " to the library", error);
        }
    }

    private static FoldbException unsupported(final String message, final Throwable cause) {
        return new FoldbException("Unsupported", message, cause);
    }
}
