package foldb.streams.it;

/** Something to run and to check. */
interface Scenario {
    /**
     * Runs the scenario and prints what it checked.
     *
     * @throws Failure if a check does not hold
     */
    void run(World world) throws Exception;
}
