package foldb.streams.engine;

/**
 * How a database is opened.
 *
 * @param mergeOperator the store operator of merges, by name; null for none
 * @param forgetOffsetsOnWrite whether the first write after an open or a commit removes the stored
 *        offsets
 * @param memoryBytes the memory that all databases of the process with this number share, in bytes
 */
public record Options(String mergeOperator, boolean forgetOffsetsOnWrite, long memoryBytes) {
}
