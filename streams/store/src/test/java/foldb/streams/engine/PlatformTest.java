package foldb.streams.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class PlatformTest {
    private static final String GLIBC = "7f1 r-xp /usr/lib/x86_64-linux-gnu/libc.so.6\n";
    private static final String MUSL = "7f1 r-xp /lib/ld-musl-x86_64.so.1\n";

    private static String name(final String system, final String processor, final String mapped) {
        return Platform.of(system, processor, mapped).name();
    }

    @Test
    void thePlatformOfALibraryHasOneName() {
        assertEquals("linux-x86_64", name("Linux", "amd64", GLIBC));
        assertEquals("linux-aarch64", name("Linux", "aarch64", GLIBC));
        assertEquals("linux-x86_64-musl", name("Linux", "amd64", MUSL));
        assertEquals("macos-aarch64", name("Mac OS X", "aarch64", ""));
        assertEquals("windows-x86_64", name("Windows 11", "amd64", ""));
        assertEquals("foldb_jni.dll", Platform.of("Windows 11", "amd64", "").file());
        assertEquals("libfoldb_jni.dylib", Platform.of("Mac OS X", "x86_64", "").file());
    }

    @Test
    void aPlatformWithoutALibraryIsNamedBesideThoseOfTheJar() {
        final Platform other = Platform.of("Linux", "sparcv9", GLIBC);
        for (int i = 0; i < 2; i++) {
            final FoldbException error = assertThrows(
                FoldbException.class, () -> NativeLibrary.loadResource(other));
            assertEquals("Unsupported", error.kind());
            assertTrue(error.getMessage().contains("no library for the platform linux-sparcv9"),
                error.getMessage());
            assertTrue(error.getMessage().contains(
                "It has libraries for " + Platform.present().name()), error.getMessage());
        }
    }
}
