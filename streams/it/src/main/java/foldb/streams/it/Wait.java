package foldb.streams.it;

import java.util.concurrent.Callable;

/** Waits with a limit. */
final class Wait {
    private Wait() {
    }

    /**
     * Asks a question until its answer is true.
     *
     * @throws Failure if the answer stays false for the given time
     */
    static void until(String what, long seconds, Callable<Boolean> question) throws Exception {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        long shown = System.nanoTime();
        while (!question.call()) {
            long now = System.nanoTime();
            if (now > end) {
                throw new Failure("after " + seconds + " s, still not true: " + what);
            }
            if (now - shown > 10_000_000_000L) {
                World.say("    waiting for: " + what);
                shown = now;
            }
            Thread.sleep(50);
        }
    }
}
