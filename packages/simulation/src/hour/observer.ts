import { QUEUE_PREFIX } from '../cluster/cluster.js'
import type { ClusterObserver } from '../cluster/cluster-observer.js'
import type { RecordModel } from '../invariants/record-model.js'
import type { SavedBreakerModel } from '../invariants/saved-breaker-model.js'
import type { Models } from './models.js'
import { nodeOf, type Run } from './run.js'

/** Passes everything that happens in a cluster to the models of the promises. */
export const createObserver = ({ addTrace, check }: Run, models: Models): ClusterObserver => ({
  onStarted: (process, runtime) => {
    addTrace(process.name, 'started')
    // It must see the first request of the budget, which is created when another model reads the guard.
    models.budgets.onStarted(process, runtime)
    models.workload.onStarted(process, runtime)
    models.breakers.onStarted(process, runtime)
    models.openings.onStarted(process, runtime)
    models.records.onStarted(process, runtime)
    models.permits.onStarted(process, runtime)
    models.naiveBreakers.onStarted(process, runtime)
    models.fleet.onStarted(process, runtime)
    models.fleetEvents.onStarted(process, runtime)
    models.pools.onStarted(process, runtime)
    models.policies.onStarted(process, runtime)
    check(() => models.saved.onStarted(process, runtime))
    check(() => models.cluster.ownQueueOf(process.name)?.checkAll())
  },
  onStartFailed: (process, error) => addTrace(process.name, `did not start: ${String(error)}`),
  onKilled: (process) => {
    addTrace(process.name, 'ended')
    models.deadLetters.onProcessEnded(process.name)
    models.records.onKilled(process)
    models.pools.onKilled(process)
    models.policies.onKilled(process)
    models.saved.onKilled(process.name)
    models.fleetEvents.onKilled(process)
    const node = nodeOf(process.name)
    const isLying = models.cluster.disks.get(node)?.disk.isLying === true
    models.contracts.get(node)?.onProcessEnded(isLying)
    if (!isLying) return
    models.memberChanges.onDiskLied(node)
    models.saved.onDiskLied(node)
  },
  onClosing: (process) => {
    models.saved.onClosing(process.name)
    models.policies.onClosing(process, models.policyChoices)
  },
  onClosed: (process) => {
    check(() => models.saved.onClosed(process.name))
    const wasStoreAvailable = models.cluster.couldRenew(process.name)
    models.policies.onClosed(process, wasStoreAvailable)
    if (models.isOnServer(process)) check(() => models.records.checkClosed(process, wasStoreAvailable))
  },
  onSessionsWritten: (process, sessions) => models.policies.onSessionsWritten(process, sessions),
  onBreakersLoad: (process) => {
    const onLoaded = models.saved.onLoad(process)
    return (rows) => check(() => onLoaded(rows))
  },
  onBreakersSaved: (process, rows) => {
    let result: ReturnType<SavedBreakerModel['onSave']> | undefined
    check(() => {
      result = models.saved.onSave(process, rows)
    })
    return result
  },
  onStoreExecuted: (process, method, args, result) => {
    addTrace('store', `${process} ${method}`)
    models.housekeeping.onExecuted(process, method)
    if (method === 'metrics.expire') check(() => models.records.onExpired(process, 'metrics', Number(result)))
    if (method.startsWith(QUEUE_PREFIX))
      check(() => models.deadLetters.onExecuted(process, method.slice(QUEUE_PREFIX.length), args, result))
  },
  onAppend: (process, journal, added) => {
    let observer: ReturnType<RecordModel['onAppend']>
    check(() => {
      observer = models.records.onAppend(process, journal, added)
    })
    return (
      observer && {
        onAcknowledged: () => check(() => observer?.onAcknowledged()),
        onFailed: () => observer?.onFailed(),
      }
    )
  },
  onInserted: (process, journal, bodies, isLate) => {
    addTrace('store', `${process} ${journal}.insert ${bodies.length}`)
    check(() => models.records.onInserted(process, journal, bodies, isLate))
  },
  onLost: (journal, bodies) => models.records.onLost(journal, bodies),
  onExpired: (process, journal, count) => {
    models.housekeeping.onExecuted(process, `${journal}.expire`)
    check(() => models.records.onExpired(process, journal, count))
  },
  isInDatabase: (id) => models.deadLetters.find(id) !== undefined,
  onSqliteResolved: (process, method, args, result) => {
    addTrace('sqlite', `${process.name} ${method}`)
    models.housekeeping.onExecuted(process.name, method)
    check(() => models.records.onExecuted(process.name, method, args, result))
  },
  onUnflushedLost: (node) => {
    models.saved.onDiskLied(node)
    check(() => models.cluster.databases.get(node)?.records.checkAll())
  },
  onThreadEnded: (node) => models.contracts.get(node)?.onCallRepeated(),
  check,
  onDiskUsed: (process, method, checkUse) => {
    addTrace('disk', `${process} deadLetters.${method}`)
    check(checkUse)
  },
  onDiskWarning: (process, line) => addTrace('disk', `${process} ${line}`),
})
