package foldb.streams.it;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Figures of several rounds, as a table of medians. */
final class BenchTable {
    private final Map<String, Row> rows = new LinkedHashMap<>();

    /** Adds a figure of which less is better. */
    void less(String row, StoreKind kind, double figure) {
        rows.computeIfAbsent(row, name -> new Row(true)).add(kind, figure);
    }

    /** Adds a figure of which more is better. */
    void more(String row, StoreKind kind, double figure) {
        rows.computeIfAbsent(row, name -> new Row(false)).add(kind, figure);
    }

    /** Adds a figure that stands beside the row, such as gets per event. */
    void note(String row, String name, double figure) {
        Row noted = rows.get(row);
        noted.notes.computeIfAbsent(name, key -> new ArrayList<>()).add(figure);
    }

    /** Returns the table in Markdown. A ratio above 1 says that foldb is better. */
    String markdown() {
        StringBuilder text = new StringBuilder();
        text.append("| | stock | foldb | ratio | |\n| --- | --- | --- | --- | --- |\n");
        rows.forEach((name, row) -> {
            double stock = median(row.figures.get(StoreKind.STOCK));
            StoreKind ours =
                row.figures.containsKey(StoreKind.MERGE) ? StoreKind.MERGE : StoreKind.FOLDB;
            double foldb = median(row.figures.get(ours));
            double ratio = row.less ? stock / foldb : foldb / stock;
            StringBuilder notes = new StringBuilder();
            row.notes.forEach((note, figures) -> notes.append(notes.isEmpty() ? "" : ", ")
                .append(note).append(' ').append(figure(median(figures))));
            text.append("| ").append(name).append(" | ").append(figure(stock)).append(" | ")
                .append(figure(foldb)).append(" | ").append(figure(ratio)).append(" | ")
                .append(notes).append(" |\n");
        });
        return text.toString();
    }

    static double median(List<Double> figures) {
        if (figures == null) {
            return Double.NaN;
        }
        double[] sorted = figures.stream().mapToDouble(Double::doubleValue).toArray();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle]
            : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /** Returns a figure with three digits. */
    private static String figure(double figure) {
        double size = Math.abs(figure);
        String format = size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f";
        return String.format(Locale.ROOT, format, figure);
    }

    /** A line of the table. */
    private static final class Row {
        private final boolean less;
        private final Map<StoreKind, List<Double>> figures = new EnumMap<>(StoreKind.class);
        private final Map<String, List<Double>> notes = new LinkedHashMap<>();

        Row(boolean less) {
            this.less = less;
        }

        void add(StoreKind kind, double figure) {
            figures.computeIfAbsent(kind, key -> new ArrayList<>()).add(figure);
        }
    }
}
