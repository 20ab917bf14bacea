package foldb.streams.engine;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Where a native library runs: an operating system, a processor, and on Linux a C library.
 *
 * @param os {@code linux}, {@code macos}, {@code windows}, or another name of Java's in small
 *        letters
 * @param processor {@code x86_64}, {@code aarch64}, or another name of Java's
 * @param isMusl whether the JVM runs on musl, as in Alpine Linux
 */
record Platform(String os, String processor, boolean isMusl) {
    /** What the JVM has mapped. Its own C library is among it. */
    private static final Path MAPPED = Path.of("/proc/self/maps");

    /** Returns the platform of this JVM. */
    static Platform present() {
        return of(System.getProperty("os.name"), System.getProperty("os.arch"), mapped());
    }

    /**
     * Returns a platform.
     *
     * @param system the operating system as Java names it
     * @param architecture the processor as Java names it
     * @param mapped the files that the JVM has mapped; empty if the system does not tell
     */
    static Platform of(
            final String system, final String architecture, final String mapped) {
        final String lower = system.toLowerCase(Locale.ROOT);
        final String os = lower.startsWith("mac") ? "macos"
            : lower.startsWith("windows") ? "windows" : lower;
        final String processor = switch (architecture) {
            case "amd64", "x86-64" -> "x86_64";
            case "arm64" -> "aarch64";
            default -> architecture;
        };
        return new Platform(os, processor, os.equals("linux") && mapped.contains("/ld-musl-"));
    }

    /** Returns the name of the platform's directory in the jar. */
    String name() {
        return os + "-" + processor + (isMusl ? "-musl" : "");
    }

    /** Returns the library's file name. */
    String file() {
        return switch (os) {
            case "macos" -> "libfoldb_jni.dylib";
            case "windows" -> "foldb_jni.dll";
            default -> "libfoldb_jni.so";
        };
    }

    private static String mapped() {
        try {
            return Files.readString(MAPPED, StandardCharsets.ISO_8859_1);
        } catch (final IOException error) {
            return "";
        }
    }
}
