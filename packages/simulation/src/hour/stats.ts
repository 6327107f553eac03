import type { NodeDisk } from '../cluster/cluster.js'
import type { Models } from './models.js'

/** How often things happened in an hour, for readers and for tests of the simulation. */
export const collectStats = (models: Models): Record<string, number> => {
  const { workload, deadLetters, breakers, naiveBreakers, budgets, fleetEvents, saved } = models
  const { pools, policies, contracts, memory, cluster } = models
  return {
    ...workload.counts,
    acknowledged: deadLetters.acknowledgedCount,
    completed: deadLetters.completedCount,
    leases: deadLetters.leaseCount,
    entries: deadLetters.entries.size,
    probes: breakers.probeCount,
    breakerComparisons: naiveBreakers.comparisonCount,
    sharedRetries: budgets.takenCount,
    fleetEventsStored: fleetEvents.storedCount,
    saves: saved.saveCount,
    failedSaves: saved.failureCount,
    restored: saved.restoredCount,
    poolAttempts: pools.attemptCount,
    cooldowns: pools.cooldownCount,
    removedOutcomes: pools.removedCount,
    contractCalls: policies.callCount,
    contractSteps: [...contracts.values()].reduce((sum, { stepCount }) => sum + stepCount, 0),
    ...sumFallbacks(models),
    ...sumDisks([...cluster.disks.values()]),
    largestObjects: memory.largest.objects,
    largestTimers: memory.largest.timers,
  }
}

/** What happened in all disk fallbacks. */
const sumFallbacks = ({ cluster: { fallbacks, postgres } }: Models): Record<string, number> => {
  const models = [...fallbacks.values()].map(({ model }) => model)
  return {
    fallbackKept: models.reduce((sum, { keptCount }) => sum + keptCount, 0),
    fallbackMoved: models.reduce((sum, { movedCount }) => sum + movedCount, 0),
    aliases: postgres.aliases().size,
  }
}

/** What happened on all disks. */
const sumDisks = (disks: readonly NodeDisk[]): Record<string, number> => {
  const sum = (count: (model: NodeDisk['model']) => number) =>
    disks.reduce((total, { model }) => total + count(model), 0)
  return {
    diskAcknowledged: sum((model) => model.acknowledgedCount),
    diskCompleted: sum((model) => model.completedCount),
    diskLeases: sum((model) => model.leaseCount),
    diskWarnings: sum((model) => model.warningCount),
    excused: sum((model) => model.excusedCount),
  }
}
