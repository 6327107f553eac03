import type { CircuitBreaker } from 'holdfast'
import { UNSURE } from './nodes.js'
import { openingOf } from './opening.js'
import { timer } from './timer.js'

/** How long a round of votes takes at most, and up to how many nodes each of them answers. */
const ROUND = 100
const SMALL = 100

/** f for failing, h for healthy, n for no vote, empty where the round is over. */
type Vote = 'f' | 'h' | 'n' | ''

export interface VoteParts {
  readonly breaker: CircuitBreaker
  /** The share of nodes that must agree. */
  quorum(): number
  /** Whether this node made enough calls lately to call it healthy. */
  calledLately(): boolean
  /** Whether the fleet may still decide: it stands together, and has not opened it. */
  undecided(): boolean
  /** How many nodes live, as far as this one has heard. */
  live(): number
  /** How many nodes live now: `UNSURE` where some may not have said so, undefined where Redis is lost. */
  count(): Promise<number | undefined>
  /** Hands a vote in. */
  cast(args: (string | number)[]): void
}

/** The votes of a node on whether a breaker fails for all. */
export class Votes {
  /** Whether it asked the others when it was not sure how many there are. */
  private unsure = false
  private readonly parts: VoteParts

  constructor(parts: VoteParts) {
    this.parts = parts
  }

  /** Asks the others whether they see it failing too. How many there are is asked just before: nobody decides by old counts. */
  async poll(): Promise<void> {
    const { breaker, count } = this.parts
    const live = await count()
    if (live === undefined) return
    this.unsure = live === UNSURE
    this.send('f', '', live)
    timer(breaker.settings.clock, () => this.end(), ROUND)
  }

  /** Asks them once more, if it asked before it could be sure how many there are. */
  pollAgain(): void {
    if (!this.unsure) return
    this.unsure = false
    if (this.parts.breaker.currentState !== 'closed' && this.parts.undecided()) void this.poll()
  }

  /** Answers one who asks. */
  answer(round: string): void {
    const { breaker, calledLately, live } = this.parts
    if (breaker.currentState !== 'closed') this.send('f', round)
    else if (calledLately()) this.send('h', round)
    // In a small fleet the round ends when all have answered; in a large one those without a vote keep silent.
    else if (live() <= SMALL) this.send('n', round)
  }

  /** Its round is over: those who have answered decide. */
  end(): void {
    this.send('', '')
  }

  private send(vote: Vote, round: string, ...live: number[]): void {
    const { breaker, quorum, undecided, cast } = this.parts
    if (!undecided() || (round === '' && breaker.currentState === 'closed')) return
    cast([...openingOf(breaker), quorum(), vote, round, ...live])
  }
}
