import { type BreakerOptions, CircuitBreaker, type Clock, type Member, type Permit } from '../../src/index.js'
import { hashString, mixBits } from '../../src/pool/indexes/hash.js'

/** A member of the model: a plain object and a real breaker. */
export interface Entry {
  readonly member: Member<string>
  readonly breaker: CircuitBreaker
  slot: number
  selections: number
  isDrained: boolean
  cooldownUntil: number
  isRemoved: boolean
  attempts: number
  successes: number
  failures: number
  opens: number
}

export interface ModelSelection {
  readonly entry: Entry
  readonly permit: Permit | undefined
}

type Context = { session?: string; region?: string }
type Choose = (candidates: Entry[], context: Context) => Entry | undefined

/** The entry with the lowest keys, compared in order, then the lowest slot. */
const lowest = (entries: Entry[], ...keys: ((entry: Entry) => number)[]): Entry | undefined =>
  entries.toSorted((a, b) => {
    for (const key of keys) if (key(a) !== key(b)) return key(a) - key(b)
    return a.slot - b.slot
  })[0]

/** Selects the entries in turn, by slot. */
function inTurn(slotOf: (entry: Entry) => number): (candidates: Entry[]) => Entry | undefined {
  let turn = 0
  return (candidates) => {
    const sorted = candidates.toSorted((a, b) => slotOf(a) - slotOf(b))
    const chosen = sorted.find((entry) => slotOf(entry) >= turn) ?? sorted[0]
    if (chosen !== undefined) turn = slotOf(chosen) + 1
    return chosen
  }
}

/** Assigns slots: the one that was freed last, or the next. */
class SlotNumbers {
  private readonly free: number[] = []
  private end = 0

  assign(): number {
    return this.free.pop() ?? this.end++
  }

  release(slot: number): void {
    this.free.push(slot)
  }
}

/** The strategies, implemented by linear search. */
const STRATEGIES: Record<string, (model: Model) => Choose> = {
  round_robin: () => inTurn(({ slot }) => slot),
  least_used: () => (candidates) => lowest(candidates, (entry) => entry.selections),
  cost: () => (candidates) =>
    lowest(
      candidates,
      ({ member }) => member.cost ?? 0,
      (entry) => entry.selections,
    ),
  sticky:
    () =>
    (candidates, { session = '', region }) => {
      const local = candidates.filter(({ member }) => region !== undefined && member.region === region)
      const start = hashString(session)
      const distance = ({ member }: Entry) => {
        const hash = hashString(member.id)
        let minimum = Infinity
        for (let i = 0; i < 16; i++) {
          const [point, probe] = [hash + (i >> 2) * 0x9e3779b9, start + (i & 3) * 0x9e3779b9]
          minimum = Math.min(minimum, (mixBits(point) - mixBits(probe)) >>> 0)
        }
        return minimum
      }
      return lowest(local.length > 0 ? local : candidates, distance)
    },
  region: (model) => {
    const chooseAmongAll = inTurn(({ slot }) => slot)
    const strategiesByRegion = new Map<string | undefined, (candidates: Entry[]) => Entry | undefined>()
    return (candidates, { region }) => {
      const local = candidates.filter(({ member }) => region !== undefined && member.region === region)
      if (local.length === 0) return chooseAmongAll(candidates)
      if (!strategiesByRegion.has(region))
        strategiesByRegion.set(
          region,
          inTurn((entry) => model.regionSlots.get(entry) as number),
        )
      return strategiesByRegion.get(region)?.(local)
    }
  },
}

interface ModelOptions {
  strategy: string
  breaker: BreakerOptions
  maxEjected: number | undefined
  panicThreshold: number | undefined
  clock: Clock
}

/** The simplest possible pool: every operation examines every member. */
export class Model {
  entries: Entry[] = []
  readonly regionSlots = new Map<Entry, number>()
  private readonly slots = new SlotNumbers()
  private readonly regions = new Map<string, SlotNumbers>()
  /** The ejected members and those that are exempt because of the limit, in the order of their openings. */
  private ejected: Entry[] = []
  private exempt: Entry[] = []
  private readonly options: ModelOptions
  private readonly chooseAvailable: Choose
  private readonly chooseInPanic: Choose

  constructor(options: ModelOptions) {
    this.options = options
    const createChoice = STRATEGIES[options.strategy] as (model: Model) => Choose
    this.chooseAvailable = createChoice(this)
    this.chooseInPanic = createChoice(this)
  }

  private get now(): number {
    return this.options.clock.now()
  }

  get(id: string): Entry {
    return this.entries.find(({ member }) => member.id === id) as Entry
  }

  add(member: Member<string>): void {
    const { breaker, clock } = this.options
    const entry: Entry = {
      member,
      breaker: new CircuitBreaker({ ...breaker, ...member.breaker, clock, id: `pool:p:${member.id}` }),
      slot: this.slots.assign(),
      selections: 0,
      isDrained: false,
      cooldownUntil: Number.NEGATIVE_INFINITY,
      isRemoved: false,
      attempts: 0,
      successes: 0,
      failures: 0,
      opens: 0,
    }
    entry.breaker.on(({ toState }) => {
      if (toState === 'open') entry.opens++
    })
    if (member.region !== undefined) {
      const slots = this.regions.get(member.region) ?? new SlotNumbers()
      this.regions.set(member.region, slots)
      this.regionSlots.set(entry, slots.assign())
    }
    this.entries.push(entry)
    this.updateEjections()
  }

  remove(entry: Entry): void {
    entry.isRemoved = true
    this.entries = this.entries.filter((other) => other !== entry)
    this.slots.release(entry.slot)
    if (entry.member.region !== undefined)
      this.regions.get(entry.member.region)?.release(this.regionSlots.get(entry) as number)
    this.updateEjections()
  }

  drain(entry: Entry): void {
    entry.isDrained = true
    this.updateEjections()
  }

  enable(entry: Entry): void {
    entry.isDrained = false
    entry.cooldownUntil = Number.NEGATIVE_INFINITY
    this.updateEjections()
  }

  select(context: Context, tried: readonly Entry[]): ModelSelection | undefined {
    const { panicThreshold = 0 } = this.options
    const enabled = this.entries.filter(({ isDrained }) => !isDrained)
    const available = enabled.filter((entry) => this.unavailableUntil(entry) <= this.now)
    const isPanicking = available.length < panicThreshold * enabled.length
    const candidates = isPanicking ? enabled : available
    const untried = candidates.filter((entry) => !tried.includes(entry))
    const choose = isPanicking ? this.chooseInPanic : this.chooseAvailable
    const entry = choose(untried.length > 0 ? untried : candidates, context)
    if (entry === undefined) return undefined
    entry.selections++
    const permit = entry.breaker.admit()
    this.updateEjections()
    return { entry, permit }
  }

  recordOutcome(
    { entry, permit }: ModelSelection,
    outcome: 'success' | 'failure' | undefined,
    cooldown: number | undefined,
  ): void {
    if (entry.isRemoved) return
    entry.attempts++
    if (outcome === 'success') entry.successes++
    if (outcome === 'failure') entry.failures++
    if (outcome === undefined) permit?.ignore()
    else permit?.[outcome]()
    if (cooldown !== undefined) entry.cooldownUntil = Math.max(entry.cooldownUntil, this.now + cooldown)
    this.updateEjections()
  }

  /** The time at which a member is available again; Infinity if waiting does not help. */
  get nextAvailableAt(): number {
    return Math.min(
      ...this.entries.filter(({ isDrained }) => !isDrained).map((entry) => this.unavailableUntil(entry)),
    )
  }

  /** The time until which an enabled member is unavailable. */
  unavailableUntil(entry: Entry): number {
    const { breaker, cooldownUntil } = entry
    if (cooldownUntil > this.now) return cooldownUntil
    if (breaker.state === 'closed' || this.exempt.includes(entry)) return this.now
    if (breaker.state === 'open') return breaker.openUntil
    const ends = (breaker.probePermits ?? []).map(({ leaseEnd }) => leaseEnd).filter((end) => end > this.now)
    return ends.length < breaker.settings.halfOpenMax ? this.now : Math.min(...ends)
  }

  /** Updates the ejected members after a change: in the order of the openings, up to the limit. */

  updateEjections(): void {
    const { maxEjected } = this.options
    if (maxEjected === undefined) return
    const enabled = this.entries.filter(({ isDrained }) => !isDrained)
    const open = enabled.filter(({ breaker }) => breaker.state !== 'closed')
    this.ejected = this.ejected.filter((entry) => open.includes(entry))
    this.exempt = this.exempt.filter((entry) => open.includes(entry))
    for (const entry of open) if (![...this.ejected, ...this.exempt].includes(entry)) this.exempt.push(entry)
    const maxCount = Math.floor(maxEjected * enabled.length + 1e-9)
    while (this.exempt.length > 0 && this.ejected.length < maxCount)
      this.ejected.push(this.exempt.shift() as Entry)
    while (this.ejected.length > maxCount) this.exempt.push(this.ejected.shift() as Entry)
  }
}
