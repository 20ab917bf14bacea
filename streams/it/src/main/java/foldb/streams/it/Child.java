package foldb.streams.it;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A Java process that this program started. Its log goes to a file. */
final class Child implements AutoCloseable {
    private static final int TAIL_LINES = 40;

    private final String name;
    private final Process process;
    private final Path log;
    private final PrintWriter in;
    private final BufferedReader out;

    private Child(String name, Process process, Path log) {
        this.name = name;
        this.process = process;
        this.log = log;
        in = new PrintWriter(process.getOutputStream(), true, StandardCharsets.UTF_8);
        out = new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /**
     * Starts a class with the classpath of this program.
     *
     * @param answers whether the standard output carries answers; else it joins the log
     */
    static Child start(Path logs, String name, List<String> flags, boolean answers, String main,
                       List<String> arguments) throws IOException {
        Path log = logs.resolve(name + ".log");
        List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        words.addAll(flags);
        words.addAll(List.of("-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path")));
        words.add(main);
        words.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(words);
        var toLog = ProcessBuilder.Redirect.appendTo(log.toFile());
        builder.redirectError(toLog);
        if (!answers) {
            builder.redirectOutput(toLog);
        }
        Child child = new Child(name, builder.start(), log);
        Children.add(child);
        return child;
    }

    String name() {
        return name;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Writes a line to the standard input of the process. */
    void say(String line) {
        in.println(line);
    }

    /** Reads a line of the standard output, or null at its end. */
    String line() throws IOException {
        return out.readLine();
    }

    /** Whether {@link #line} has something to read. */
    boolean hasOutput() throws IOException {
        return out.ready();
    }

    /** Waits for the end of the process, and returns its status. */
    int await(long seconds) throws InterruptedException {
        if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
            throw new Failure(name + " did not end within " + seconds + " s");
        }
        Children.remove(this);
        return process.exitValue();
    }

    /** Kills the process without a chance to clean up, like {@code kill -9}, and waits for it. */
    void kill() {
        process.destroyForcibly();
        try {
            process.waitFor(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Children.remove(this);
    }

    /** Returns the memory of the process in RAM, in MiB, or 0 where the system does not tell. */
    long residentMib() {
        return residentMib("/proc/" + process.pid() + "/status");
    }

    /** Returns the memory of this process in RAM, in MiB, or 0 where the system does not tell. */
    static long residentMibOfThis() {
        return residentMib("/proc/self/status");
    }

    private static long residentMib(String status) {
        try {
            for (String line : Files.readAllLines(Path.of(status))) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024;
                }
            }
        } catch (IOException e) {
            // The process has ended, or the system has no such file.
        }
        return 0;
    }

    /** Returns the last lines of the log. */
    String tail() {
        try {
            List<String> lines = Files.readAllLines(log);
            int from = Math.max(0, lines.size() - TAIL_LINES);
            return String.join("\n", lines.subList(from, lines.size()));
        } catch (IOException e) {
            return "(no log: " + e + ")";
        }
    }

    @Override
    public void close() {
        kill();
    }
}
