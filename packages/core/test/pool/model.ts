import { type BreakerOptions, CircuitBreaker, type Clock, type Member, type Permit } from '../../src/index.js'
import { hashString, mixBits } from '../../src/pool/indexes/hash.js'

/** A member as the model sees it: a plain object and a real breaker. */
export interface Entry {
  readonly member: Member<string>
  readonly breaker: CircuitBreaker
  place: number
  turns: number
  drained: boolean
  restsUntil: number
  gone: boolean
  attempts: number
  successes: number
  failures: number
  opens: number
}

export interface ModelPick {
  readonly entry: Entry
  readonly permit: Permit | undefined
}

type Context = { session?: string; region?: string }
type Choose = (candidates: Entry[], context: Context) => Entry | undefined

/** The least by several numbers, one after the other. */
const least = (entries: Entry[], ...keys: ((entry: Entry) => number)[]): Entry | undefined =>
  entries.toSorted((a, b) => {
    for (const key of keys) if (key(a) !== key(b)) return key(a) - key(b)
    return a.place - b.place
  })[0]

/** Turns over places, wherever those are counted. */
function turns(placeOf: (entry: Entry) => number): (candidates: Entry[]) => Entry | undefined {
  let turn = 0
  return (candidates) => {
    const sorted = candidates.toSorted((a, b) => placeOf(a) - placeOf(b))
    const chosen = sorted.find((entry) => placeOf(entry) >= turn) ?? sorted[0]
    if (chosen !== undefined) turn = placeOf(chosen) + 1
    return chosen
  }
}

/** Places that are given in order, or again, the one that was left last first. */
class Places {
  private readonly left: number[] = []
  private end = 0

  give(): number {
    return this.left.pop() ?? this.end++
  }

  leave(place: number): void {
    this.left.push(place)
  }
}

/** What the strategies do, by looking at everybody. */
const STRATEGIES: Record<string, (model: Model) => Choose> = {
  round_robin: () => turns(({ place }) => place),
  least_used: () => (candidates) => least(candidates, (entry) => entry.turns),
  cost: () => (candidates) =>
    least(
      candidates,
      ({ member }) => member.cost ?? 0,
      (entry) => entry.turns,
    ),
  sticky:
    () =>
    (candidates, { session = '', region }) => {
      const local = candidates.filter(({ member }) => region !== undefined && member.region === region)
      const start = hashString(session)
      const far = ({ member }: Entry) => {
        const hash = hashString(member.id)
        let least = Infinity
        for (let i = 0; i < 16; i++) {
          const [point, look] = [hash + (i >> 2) * 0x9e3779b9, start + (i & 3) * 0x9e3779b9]
          least = Math.min(least, (mixBits(point) - mixBits(look)) >>> 0)
        }
        return least
      }
      return least(local.length > 0 ? local : candidates, far)
    },
  region: (model) => {
    const everywhere = turns(({ place }) => place)
    const homes = new Map<string | undefined, (candidates: Entry[]) => Entry | undefined>()
    return (candidates, { region }) => {
      const local = candidates.filter(({ member }) => region !== undefined && member.region === region)
      if (local.length === 0) return everywhere(candidates)
      if (!homes.has(region))
        homes.set(
          region,
          turns((entry) => model.homePlaces.get(entry) as number),
        )
      return homes.get(region)?.(local)
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

/** A pool as simple as can be: every question is answered by looking at every member. */
export class Model {
  entries: Entry[] = []
  readonly homePlaces = new Map<Entry, number>()
  private readonly places = new Places()
  private readonly regions = new Map<string, Places>()
  /** Who is set aside, and who would be if there were room, in the order in which they opened. */
  private out: Entry[] = []
  private spared: Entry[] = []
  private readonly options: ModelOptions
  private readonly chooseAvailable: Choose
  private readonly chooseAnybody: Choose

  constructor(options: ModelOptions) {
    this.options = options
    const make = STRATEGIES[options.strategy] as (model: Model) => Choose
    this.chooseAvailable = make(this)
    this.chooseAnybody = make(this)
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
      place: this.places.give(),
      turns: 0,
      drained: false,
      restsUntil: Number.NEGATIVE_INFINITY,
      gone: false,
      attempts: 0,
      successes: 0,
      failures: 0,
      opens: 0,
    }
    entry.breaker.on(({ toState }) => {
      if (toState === 'open') entry.opens++
    })
    if (member.region !== undefined) {
      const places = this.regions.get(member.region) ?? new Places()
      this.regions.set(member.region, places)
      this.homePlaces.set(entry, places.give())
    }
    this.entries.push(entry)
    this.eject()
  }

  remove(entry: Entry): void {
    entry.gone = true
    this.entries = this.entries.filter((other) => other !== entry)
    this.places.leave(entry.place)
    if (entry.member.region !== undefined)
      this.regions.get(entry.member.region)?.leave(this.homePlaces.get(entry) as number)
    this.eject()
  }

  drain(entry: Entry): void {
    entry.drained = true
    this.eject()
  }

  enable(entry: Entry): void {
    entry.drained = false
    entry.restsUntil = Number.NEGATIVE_INFINITY
    this.eject()
  }

  take(context: Context, tried: readonly Entry[]): ModelPick | undefined {
    const { panicThreshold = 0 } = this.options
    const enabled = this.entries.filter(({ drained }) => !drained)
    const available = enabled.filter((entry) => this.outUntil(entry) <= this.now)
    const panic = available.length < panicThreshold * enabled.length
    const candidates = panic ? enabled : available
    const untried = candidates.filter((entry) => !tried.includes(entry))
    const choose = panic ? this.chooseAnybody : this.chooseAvailable
    const entry = choose(untried.length > 0 ? untried : candidates, context)
    if (entry === undefined) return undefined
    entry.turns++
    const permit = entry.breaker.admit()
    this.eject()
    return { entry, permit }
  }

  settle(
    { entry, permit }: ModelPick,
    verdict: 'success' | 'failure' | undefined,
    rest: number | undefined,
  ): void {
    if (entry.gone) return
    entry.attempts++
    if (verdict === 'success') entry.successes++
    if (verdict === 'failure') entry.failures++
    if (verdict === undefined) permit?.ignore()
    else permit?.[verdict]()
    if (rest !== undefined) entry.restsUntil = Math.max(entry.restsUntil, this.now + rest)
    this.eject()
  }

  /** When somebody is available again; Infinity where nobody will be. */
  get nextAt(): number {
    return Math.min(...this.entries.filter(({ drained }) => !drained).map((entry) => this.outUntil(entry)))
  }

  /** Until when one that is not drained is out. */
  outUntil(entry: Entry): number {
    const { breaker, restsUntil } = entry
    if (restsUntil > this.now) return restsUntil
    if (breaker.state === 'closed' || this.spared.includes(entry)) return this.now
    if (breaker.state === 'open') return breaker.openUntil
    const ends = (breaker.probePermits ?? []).map(({ leaseEnd }) => leaseEnd).filter((end) => end > this.now)
    return ends.length < breaker.settings.halfOpenMax ? this.now : Math.min(...ends)
  }

  /** Who is set aside is decided anew after each change: first come, first out, as long as there is room, and first back. */
  eject(): void {
    const { maxEjected } = this.options
    if (maxEjected === undefined) return
    const enabled = this.entries.filter(({ drained }) => !drained)
    const open = enabled.filter(({ breaker }) => breaker.state !== 'closed')
    this.out = this.out.filter((entry) => open.includes(entry))
    this.spared = this.spared.filter((entry) => open.includes(entry))
    for (const entry of open) if (![...this.out, ...this.spared].includes(entry)) this.spared.push(entry)
    const room = Math.floor(maxEjected * enabled.length + 1e-9)
    while (this.spared.length > 0 && this.out.length < room) this.out.push(this.spared.shift() as Entry)
    while (this.out.length > room) this.spared.push(this.out.shift() as Entry)
  }
}
