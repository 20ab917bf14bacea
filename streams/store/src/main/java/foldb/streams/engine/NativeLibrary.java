package foldb.streams.engine;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/**
 * Loads the native library. The jar contains the library of the platform that it was built on. The
 * system property {@code foldb.native.library} names another file.
 */
public final class NativeLibrary {
    /** The system property with the path of a library to load in place of that in the jar. */
    public static final String PROPERTY = "foldb.native.library";

    private static boolean isLoaded;

    private NativeLibrary() {
    }

    /**
     * Loads the library, once for the process.
     *
     * @throws FoldbException if there is no library for this platform, or if it cannot be loaded;
     *         the message names the file
     */
    public static synchronized void load() {
        if (isLoaded) {
            return;
        }
        final String given = System.getProperty(PROPERTY);
        if (given != null) {
            loadFile(Path.of(given).toAbsolutePath(), "named by the system property " + PROPERTY);
        } else {
            loadResource(resource(System.getProperty("os.name"), System.getProperty("os.arch")));
        }
        isLoaded = true;
    }

    /** Returns the name of the library in the jar. */
    static String resource(final String system, final String processor) {
        final String lower = system.toLowerCase(Locale.ROOT);
        final String os;
        final String file;
        if (lower.startsWith("mac")) {
            os = "macos";
            file = "libfoldb_jni.dylib";
        } else if (lower.startsWith("windows")) {
            os = "windows";
            file = "foldb_jni.dll";
        } else {
            os = lower;
            file = "libfoldb_jni.so";
        }
        final String architecture = processor.equals("amd64") ? "x86_64" : processor;
        return "foldb/native/" + os + "-" + architecture + "/" + file;
    }

    private static void loadResource(final String resource) {
        final ClassLoader loader = NativeLibrary.class.getClassLoader();
        try (InputStream library = loader.getResourceAsStream(resource)) {
            if (library == null) {
                throw unsupported("the jar of foldb-streams has no file '" + resource
                    + "': build the jar on this platform with 'cargo xtask streams build', or name"
                    + " a library in the system property " + PROPERTY, null);
            }
            final Path copy = Files.createTempFile("foldb_jni", resource.substring(
                resource.lastIndexOf('.')));
            try {
                Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
                loadFile(copy, "a copy of '" + resource + "' in the jar of foldb-streams");
            } finally {
                // A mapped library needs no file on Linux. Elsewhere the file goes at the exit.
                if (!copy.toFile().delete()) {
                    copy.toFile().deleteOnExit();
                }
            }
        } catch (final IOException error) {
            throw unsupported("the library '" + resource + "' cannot be copied out of the jar of"
                + " foldb-streams: " + error, error);
        }
    }

    private static void loadFile(final Path file, final String origin) {
        try {
            System.load(file.toString());
        } catch (final UnsatisfiedLinkError error) {
            throw unsupported("the library '" + file + "', " + origin + ", cannot be loaded: "
                + error.getMessage(), error);
        }
    }

    private static FoldbException unsupported(final String message, final Throwable cause) {
        return new FoldbException("Unsupported", message, cause);
    }
}
