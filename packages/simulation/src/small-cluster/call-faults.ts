import type { Choices } from '../engine/seeded-random.js'
import type { StoreCall } from './store-port.js'

/** What can happen to one call: it is not executed, it is executed and the process gets an error, or it takes long. */
export type CallFault = 'not_executed' | 'lost_reply' | 'slow'

/** The longest additional time of a slow call. */
export const MAX_SLOW_MS = 1500

/** How often calls of some methods fail. */
interface FaultRule {
  readonly methods: RegExp
  readonly share: number
  readonly kinds: readonly CallFault[]
  /** How many calls about the same entry may fail one after another. */
  readonly maxInSequence: number
}

/**
 * A lease must survive one failed renewal, and a result several failed settlements, so these fail often, but not more often than that.
 * Records of a journal have no second identity, so the reply to an insert is not lost: a repeated insert would be a duplicate.
 */
const RULES: readonly FaultRule[] = [
  {
    methods: /^deadLetters\.renew$/,
    share: 0.3,
    kinds: ['not_executed', 'lost_reply', 'slow'],
    maxInSequence: 1,
  },
  {
    methods: /^deadLetters\.settle$/,
    share: 0.15,
    kinds: ['not_executed', 'lost_reply', 'slow'],
    maxInSequence: 3,
  },
  {
    methods: /^deadLetters\.(add|lease|leaseNext|request|list|get|stats)$/,
    share: 0.05,
    kinds: ['not_executed', 'lost_reply', 'slow'],
    maxInSequence: 2,
  },
  { methods: /^layers\./, share: 0.06, kinds: ['not_executed', 'lost_reply', 'slow'], maxInSequence: 2 },
  {
    methods: /\.(append|expire|purge|save)$/,
    share: 0.06,
    kinds: ['not_executed', 'slow'],
    maxInSequence: 3,
  },
]

/** Decides which calls of the store fail. */
export class CallFaults {
  /** How many calls had a fault. */
  count = 0
  /** False while the cluster starts, and at the end. */
  isOn = false
  private readonly choices: Choices
  private readonly inSequence = new Map<string, number>()

  constructor(choices: Choices) {
    this.choices = choices
  }

  plan({ process, method, args }: StoreCall): CallFault | undefined {
    const rule = this.isOn ? RULES.find(({ methods }) => methods.test(method)) : undefined
    if (rule === undefined) return undefined
    const subject = typeof args[0] === 'string' ? args[0] : ''
    const key = `${process} ${method} ${subject}`
    const before = this.inSequence.get(key) ?? 0
    const fails = before < rule.maxInSequence && this.choices.chance(rule.share)
    if (!fails) {
      this.inSequence.delete(key)
      return undefined
    }
    this.inSequence.set(key, before + 1)
    this.count++
    return this.choices.pick(rule.kinds)
  }
}
