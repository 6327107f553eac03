import type { CircuitBreaker } from 'holdfast'
import { UNCERTAIN_COUNT } from './membership.js'
import { currentOpenState } from './open-state.js'
import { setUnrefTimer } from './unref-timer.js'

/** How long a round of votes takes at most, and up to how many nodes each of them answers. */
const ROUND_MS = 100
const MAX_ANSWERING_NODES = 100

/** f for failing, h for healthy, n for no vote, empty where the round is over. */
type Vote = 'f' | 'h' | 'n' | ''

export interface QuorumVoteParts {
  readonly breaker: CircuitBreaker
  /** The share of nodes that must agree. */
  quorum(): number
  /** Whether this node made enough calls lately to call it healthy. */
  hasEnoughCalls(): boolean
  /** Whether the fleet may still decide: it stands together, and has not opened it. */
  isUndecided(): boolean
  /** How many nodes live, as far as this one has heard. */
  liveNodes(): number
  /** How many nodes live now: `UNCERTAIN_COUNT` where some may not have said so, undefined where Redis is lost. */
  countNodes(): Promise<number | undefined>
  /** Hands a vote in. */
  submit(args: (string | number)[]): void
}

/** The votes of a node on whether a breaker fails for all. */
export class QuorumVote {
  /** Whether it asked the others when it was not sure how many there are. */
  private isUncertain = false
  private readonly parts: QuorumVoteParts

  constructor(parts: QuorumVoteParts) {
    this.parts = parts
  }

  /** Asks the others whether they see it failing too. How many there are is asked just before: nobody decides by old counts. */
  async poll(): Promise<void> {
    const { breaker, countNodes } = this.parts
    const live = await countNodes()
    if (live === undefined) return
    this.isUncertain = live === UNCERTAIN_COUNT
    this.submit('f', '', live)
    setUnrefTimer(breaker.settings.clock, () => this.endRound(), ROUND_MS)
  }

  /** Asks them once more, if it asked before it could be sure how many there are. */
  repeatPoll(): void {
    if (!this.isUncertain) return
    this.isUncertain = false
    if (this.parts.breaker.currentState !== 'closed' && this.parts.isUndecided()) void this.poll()
  }

  /** Answers one who asks. */
  answerPoll(round: string): void {
    const { breaker, hasEnoughCalls, liveNodes } = this.parts
    if (breaker.currentState !== 'closed') this.submit('f', round)
    else if (hasEnoughCalls()) this.submit('h', round)
    // In a small fleet the round ends when all have answered; in a large one those without a vote keep silent.
    else if (liveNodes() <= MAX_ANSWERING_NODES) this.submit('n', round)
  }

  /** Its round is over: those who have answered decide. */
  endRound(): void {
    this.submit('', '')
  }

  private submit(vote: Vote, round: string, ...live: number[]): void {
    const { breaker, quorum, isUndecided, submit } = this.parts
    if (!isUndecided() || (round === '' && breaker.currentState === 'closed')) return
    submit([...currentOpenState(breaker), quorum(), vote, round, ...live])
  }
}
