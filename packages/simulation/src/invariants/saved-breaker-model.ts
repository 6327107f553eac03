import type { Holdfast } from '@holdfast/runtime'
import type { StoredBreaker } from '@holdfast/store'
import type { CircuitBreaker } from 'holdfast'
import type { Scheduler } from '../engine/scheduler.js'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { OPERATIONS, type Operation, POOL, type Scenario } from '../scenario/scenario.js'

/** A save that failed or whose process died is executed within this time, or never. */
const LATE_MS = 120_000

/** A change is passed to a save within this time, also after a save that failed. */
const PASSED_WITHIN_MS = 10_000

/** A save has ended after this time: the store retries for up to 45 s, after earlier requests of the process. */
const MAX_SAVE_MS = 180_000

/** The operation whose breaker no other node changes. */
const LONE_OPERATION: Operation = 'report'

/** Stores have times and durations in seconds, so that these can change a little. Counts and epochs cannot. */
const TOLERANCE_MS = 1
const TIMES: ReadonlySet<string> = new Set([
  'openDuration',
  'tripDuration',
  'nextTestTime',
  'lastFailureTime',
  'lastStateChange',
  'closedAt',
])

/** An entry of a window has its time and three counts. */
const ENTRY_SIZE = 4

type Snapshot = StoredBreaker['snapshot']

const describe = ({ state, epoch }: Snapshot): string => `${state} in epoch ${epoch}`

/** Absent values, and those that mean the same. */
const isAbsent = (value: unknown): boolean => value === undefined || value === false || value === ''

const isSameTime = (a: unknown, b: unknown): boolean =>
  typeof a === 'number' && typeof b === 'number' && Math.abs(a - b) <= TOLERANCE_MS

function isSameValue(name: keyof Snapshot, a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return (
      a.length === b.length &&
      a.every((value, i) => value === b[i] || (i % ENTRY_SIZE === 0 && isSameTime(value, b[i])))
    )
  return a === b || (isAbsent(a) && isAbsent(b)) || (TIMES.has(name) && isSameTime(a, b))
}

/** The names of the fields that two states of a breaker have with different values. */
function differentFields(a: Partial<Snapshot>, b: Partial<Snapshot>): (keyof Snapshot)[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)] as (keyof Snapshot)[])
  return [...names].filter((name) => !isSameValue(name, a[name], b[name]))
}

const isSameState = (a: Snapshot | undefined, b: Snapshot | undefined): boolean =>
  a === undefined || b === undefined ? a === b : differentFields(a, b).length === 0

const describeState = (snapshot: Snapshot | undefined): string =>
  snapshot === undefined ? 'nothing' : describe(snapshot)

/** A loaded state that was not saved, with its fields that differ from the saved state of the same epoch. */
function describeLoaded(loaded: Snapshot | undefined, possible: readonly (Snapshot | undefined)[]): string {
  const saved = possible.find((other) => other?.epoch === loaded?.epoch)
  if (loaded === undefined || saved === undefined || describe(loaded) !== describe(saved))
    return describeState(loaded)
  const fields = differentFields(loaded, saved).map(
    (name) => `${name} ${JSON.stringify(loaded[name])} instead of ${JSON.stringify(saved[name])}`,
  )
  return `${describe(loaded)} with ${fields.join(' and ')}`
}

/** A save of a breaker that the store can have executed last. */
interface PossibleSave {
  readonly snapshot: Snapshot
  /** Infinity until the save has ended. A save that fails or whose process dies can be executed a little later. */
  executedBefore: number
}

/** The saves of one breaker, by their identity. */
interface StoredStates {
  hasAcknowledged: boolean
  readonly possible: Map<object, PossibleSave>
}

const possibleStates = ({ possible }: StoredStates): Snapshot[] =>
  [...possible.values()].map(({ snapshot }) => snapshot)

/** The breakers of a process whose changes the store has not acknowledged. */
interface ProcessSaves {
  /** Since when each change waits for a save. */
  readonly changed: Map<string, number>
  /** When each save began that has not ended. The next one waits for its end. */
  readonly underWay: Map<object, number>
  /** The states that the process has loaded, by id. */
  loaded: ReadonlyMap<string, StoredBreaker>
  isClosing: boolean
  hasFailed: boolean
}

/**
 * The promises about breakers with `persist_state`. A process restores the state that its store has acknowledged last. A save has every
 * breaker that has changed since it was last saved, also if an earlier save failed. No change waits for long, whatever failed. A close
 * saves the changes that are left.
 */
export class SavedBreakerModel {
  saveCount = 0
  failureCount = 0
  restoredCount = 0
  private readonly stores = new Map<string, Map<string, StoredStates>>()
  private readonly saves = new Map<string, ProcessSaves>()
  /** The states that each running load can find, by the process and the id; undefined for none. A load can take longer than several saves. */
  private readonly loads = new Map<string, Map<string, (Snapshot | undefined)[]>>()
  private readonly scheduler: Scheduler
  private readonly storeOf: (process: string) => string
  private readonly scenario: Pick<Scenario, 'persists' | 'poolShare'>

  constructor(
    scheduler: Scheduler,
    storeOf: (process: string) => string,
    scenario: Pick<Scenario, 'persists' | 'poolShare'>,
  ) {
    this.scheduler = scheduler
    this.storeOf = storeOf
    this.scenario = scenario
  }

  /**
   * A process begins to load the saved breakers. Returns a function that reports the result, and throws a Violation if a breaker has
   * another state than was acknowledged, both at the beginning and at the end.
   */
  onLoad(process: string): (rows: readonly StoredBreaker[]) => void {
    const before = new Map<string, (Snapshot | undefined)[]>()
    this.loads.set(process, before)
    for (const [id, states] of this.stores.get(this.storeOf(process)) ?? [])
      before.set(id, states.hasAcknowledged ? possibleStates(states) : [undefined, ...possibleStates(states)])
    return (rows) => this.onLoaded(process, rows, before)
  }

  private onLoaded(
    process: string,
    rows: readonly StoredBreaker[],
    before: ReadonlyMap<string, readonly (Snapshot | undefined)[]>,
  ): void {
    this.loads.delete(process)
    const loaded = new Map(rows.map((row) => [row.snapshot.id, row]))
    this.saves.set(process, {
      changed: new Map(),
      underWay: new Map(),
      loaded,
      isClosing: false,
      hasFailed: false,
    })
    const store = this.storeOf(process)
    for (const [id, states] of this.stores.get(store) ?? []) {
      if (!states.hasAcknowledged) continue
      const snapshot = loaded.get(id)?.snapshot
      const possible = [...(before.get(id) ?? [undefined]), ...possibleStates(states)]
      if (!possible.some((other) => isSameState(snapshot, other)))
        throw new Violation(
          'saved',
          `${process} loaded ${describeLoaded(snapshot, possible)} for ${id}, and ${store} had acknowledged ${[...new Set(possible.map(describeState))].join(' or ')}`,
        )
    }
  }

  /** The runtime of a process is open. @throws Violation if a breaker that only its node changes has another state than was loaded */
  onStarted(process: Process, runtime: Holdfast): void {
    const saves = this.saves.get(process.name)
    if (!this.scenario.persists || saves === undefined) return
    const pool = runtime.pools.get(POOL)
    const onChanged = (id: string) => {
      if (process.isAlive && !saves.changed.has(id)) saves.changed.set(id, this.scheduler.now)
    }
    for (const operation of OPERATIONS) {
      const { breaker } = runtime.guard(operation)
      breaker?.on(() => onChanged(breaker.id))
    }
    pool.on((event) => {
      if (event.type === 'breaker_changed') onChanged(event.id)
    })
    const { breaker } = runtime.guard(LONE_OPERATION)
    if (breaker !== undefined) this.checkRestored(process, breaker, saves)
    if (this.scenario.poolShare !== 'none') return
    for (const { id } of pool.members()) this.checkRestored(process, pool.breaker(id), saves)
  }

  private checkRestored(
    { name: process, clock }: Process,
    { id, currentState, epoch, openUntil, openDuration }: CircuitBreaker,
    { loaded }: ProcessSaves,
  ): void {
    const row = loaded.get(id)
    if (row === undefined) return
    this.restoredCount++
    const { snapshot } = row
    // The probes of a half-open breaker have ended with the process, so the breaker waits for new ones.
    const restored = snapshot.state === 'closed' ? 'closed' : 'open'
    if (currentState !== restored || epoch !== snapshot.epoch)
      throw new Violation(
        'saved',
        `${process} restored ${id} as ${currentState} in epoch ${epoch}, and it was saved as ${describe(snapshot)}`,
      )
    // A step of the wall time since the breakers were restored changes the time that is left.
    if (snapshot.state !== 'open' || clock.wallStepCount > 0) return
    const expected = (snapshot.nextTestTime ?? 0) - clock.wall()
    const left = openUntil - clock.now()
    // The limit of the open time applied at the restore. That was at most the time of the clock ago, which began with the process.
    const least = Math.min(expected, openDuration - clock.now()) - TOLERANCE_MS
    const most = Math.min(Math.max(0, expected) + TOLERANCE_MS, openDuration)
    if (left < least || left > most)
      throw new Violation(
        'saved',
        `${process} restored ${id} with ${left} ms until its next probe, expected ${least} to ${most} ms`,
      )
  }

  /** A process saves breakers. Returns functions to report the end. @throws Violation if a changed one is missing */
  onSave(
    process: string,
    rows: readonly StoredBreaker[],
  ): { onAcknowledged: () => void; onFailed: () => void } {
    this.saveCount++
    const saves = this.saves.get(process)
    const ids = new Set(rows.map(({ snapshot }) => snapshot.id))
    const missing = [...(saves?.changed.keys() ?? [])].filter((id) => !ids.has(id))
    const store = this.storeOf(process)
    const token = {}
    const startedAt = this.scheduler.now
    for (const row of rows) {
      const { snapshot } = row
      const { id } = snapshot
      this.statesOf(store, id).possible.set(token, { snapshot, executedBefore: Number.POSITIVE_INFINITY })
      for (const [loading, states] of this.loads)
        if (this.storeOf(loading) === store) states.set(id, [...(states.get(id) ?? [undefined]), snapshot])
    }
    // The save of a process that dies never ends.
    this.scheduler.schedule(LATE_MS, () => this.end(store, ids, token, LATE_MS))
    for (const id of ids) saves?.changed.delete(id)
    saves?.underWay.set(token, startedAt)
    const onEnded = () => {
      if (saves === undefined) return
      saves.underWay.delete(token)
      const now = this.scheduler.now
      for (const [id, since] of saves.changed) saves.changed.set(id, Math.max(since, now))
    }
    if (missing.length > 0)
      throw new Violation(
        'saved',
        `${process} saved ${[...ids].join(', ')} without ${missing.join(', ')}, which changed`,
      )
    return {
      onAcknowledged: () => {
        onEnded()
        this.end(store, ids, token, 0)
        for (const id of ids) {
          const states = this.statesOf(store, id)
          states.hasAcknowledged = true
          // A save that overlaps with this one can be executed after it.
          for (const [other, { executedBefore }] of states.possible)
            if (executedBefore < startedAt) states.possible.delete(other)
        }
      },
      onFailed: () => {
        this.failureCount++
        for (const id of ids) saves?.changed.set(id, this.scheduler.now)
        onEnded()
        if (saves !== undefined) saves.hasFailed = saves.isClosing
        this.end(store, ids, token, LATE_MS)
      },
    }
  }

  /** Checks that no change waits for longer than it may. @throws Violation if one does */
  checkPassed(nodes: readonly SimulatedNode[]): void {
    for (const { process } of nodes) {
      const saves = process && this.saves.get(process.name)
      if (process === undefined || saves === undefined) continue
      const now = this.scheduler.now
      for (const startedAt of saves.underWay.values())
        if (now - startedAt > MAX_SAVE_MS)
          throw new Violation(
            'hangs',
            `a save of breakers by ${process.name} has not ended in ${now - startedAt} ms`,
          )
      if (saves.underWay.size > 0 || saves.isClosing) continue
      for (const [id, since] of saves.changed)
        if (now - since > PASSED_WITHIN_MS)
          throw new Violation(
            'saved',
            `${process.name} has not saved ${id}, which changed ${now - since} ms ago`,
          )
    }
  }

  /** The process closes its runtime. */
  onClosing(process: string): void {
    const saves = this.saves.get(process)
    if (saves !== undefined) saves.isClosing = true
  }

  /** The process has closed its runtime. @throws Violation if a change was not saved, and no save has failed */
  onClosed(process: string): void {
    const saves = this.saves.get(process)
    if (saves === undefined || saves.hasFailed || !saves.isClosing) return
    // Until the end, other nodes can change the breakers that are shared.
    const isLone = (id: string) =>
      id === `service:${LONE_OPERATION}` || (this.scenario.poolShare === 'none' && id.startsWith('pool:'))
    const unsaved = [...saves.changed.keys()].filter(isLone)
    if (unsaved.length > 0)
      throw new Violation('saved', `${process} has closed without a save of ${unsaved.join(', ')}`)
  }

  onKilled(process: string): void {
    this.loads.delete(process)
    this.saves.delete(process)
  }

  /** The disk of a store lied, and may have lost every save. */
  onDiskLied(store: string): void {
    this.stores.delete(store)
  }

  /** A save has ended, and is executed before a time from now if it is executed at all. */
  private end(store: string, ids: ReadonlySet<string>, token: object, lateMs: number): void {
    const executedBefore = this.scheduler.now + lateMs
    for (const id of ids) {
      const found = this.stores.get(store)?.get(id)?.possible.get(token)
      if (found !== undefined) found.executedBefore = Math.min(found.executedBefore, executedBefore)
    }
  }

  private statesOf(store: string, id: string): StoredStates {
    const byId = this.stores.get(store) ?? new Map<string, StoredStates>()
    this.stores.set(store, byId)
    const states = byId.get(id) ?? { hasAcknowledged: false, possible: new Map() }
    byId.set(id, states)
    return states
  }
}
