package foldb.streams;

import foldb.streams.MergeScenario.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Draws events whose time advances and jumps, and some of which are late or far too late. */
final class EventClock {
    private final Random random;
    private long now = 1000;

    EventClock(Random random) {
        this.random = random;
    }

    /** Returns the time of the newest event that was not late, in milliseconds. */
    long now() {
        return now;
    }

    List<Event> draw(int count) {
        List<Event> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            now += random.nextInt(40) == 0 ? random.nextInt(60_000) : random.nextInt(500);
            long late = random.nextInt(random.nextInt(100) + 1) * 1000L;
            events.add(new Event("aab".substring(random.nextInt(3)) + random.nextInt(4),
                (long) random.nextInt(200) - 100, Math.max(0, now - late)));
        }
        return events;
    }
}
