package foldb.streams;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Another JVM that runs a program of the tests to its end. */
final class ChildJvm {
    private ChildJvm() {
    }

    /**
     * Runs a program.
     *
     * @param options options of the JVM
     * @return what it printed, errors too
     */
    static String run(
            final List<String> options, final Class<?> program, final String... arguments)
            throws IOException, InterruptedException {
        return run(options, System.getProperty("java.class.path"), program, arguments);
    }

    /** Runs a program with a directory before the others of the class path. */
    static String runAfter(
            final Path first, final Class<?> program, final String... arguments)
            throws IOException, InterruptedException {
        return run(List.of(),
            first + File.pathSeparator + System.getProperty("java.class.path"), program, arguments);
    }

    private static String run(
            final List<String> options,
            final String classes,
            final Class<?> program,
            final String... arguments)
            throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of(
            "-cp", classes, program.getName()));
        command.addAll(List.of(arguments));
        final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            final byte[] printed = process.getInputStream().readAllBytes();
            process.waitFor();
            return new String(printed, StandardCharsets.UTF_8);
        } finally {
            process.destroyForcibly();
        }
    }
}
