import type { CircuitBreaker } from 'holdfast'
import { UNCERTAIN_COUNT } from './membership.js'
import { currentOpenState } from './open-state.js'
import { setUnrefTimer } from './unref-timer.js'

/** The longest duration of a round of votes, and the fleet size up to which nodes without a vote answer too. */
const ROUND_MS = 100
const MAX_ANSWERING_NODES = 100

/** f for failing, h for healthy, n for no vote, empty when the round is over. */
type Vote = 'f' | 'h' | 'n' | ''

export interface QuorumVoteParts {
  readonly breaker: CircuitBreaker
  /** The fraction of nodes that must agree. */
  quorum(): number
  /** Whether this node made enough calls recently to vote that the breaker is healthy. */
  hasEnoughCalls(): boolean
  /** Whether a vote is still useful: the breaker is shared, and the fleet has not opened it. */
  isUndecided(): boolean
  /** The number of live nodes at the last heartbeat. */
  liveNodes(): number
  /** The number of live nodes now: `UNCERTAIN_COUNT` if some may be missing, undefined if Redis is not available. */
  countNodes(): Promise<number | undefined>
  /** Sends a vote to Redis. */
  submit(args: (string | number)[]): void
}

/** The votes of a node on whether a breaker fails for the whole fleet. */
export class QuorumVote {
  /** Whether this node began a round while the number of nodes was uncertain. */
  private isUncertain = false
  private readonly parts: QuorumVoteParts

  constructor(parts: QuorumVoteParts) {
    this.parts = parts
  }

  /**
   * Begins a round in which all other nodes are asked whether they see the breaker failing too. The number of nodes is read
   * before each round, because a restarted Redis has lost the list of nodes.
   */
  async poll(): Promise<void> {
    const { breaker, countNodes } = this.parts
    const live = await countNodes()
    if (live === undefined) return
    this.isUncertain = live === UNCERTAIN_COUNT
    this.submit('f', '', live)
    setUnrefTimer(breaker.settings.clock, () => this.endRound(), ROUND_MS)
  }

  /** Begins another round if the number of nodes was uncertain in the last one. */
  repeatPoll(): void {
    if (!this.isUncertain) return
    this.isUncertain = false
    if (this.parts.breaker.currentState !== 'closed' && this.parts.isUndecided()) void this.poll()
  }

  /** Submits the vote of this node in a round that another node began. */
  answerPoll(round: string): void {
    const { breaker, hasEnoughCalls, liveNodes } = this.parts
    if (breaker.currentState !== 'closed') this.submit('f', round)
    else if (hasEnoughCalls()) this.submit('h', round)
    // In a small fleet the round ends when all nodes have answered. In a large one, nodes without a vote do not answer.
    else if (liveNodes() <= MAX_ANSWERING_NODES) this.submit('n', round)
  }

  /** Ends the round of this node: the votes that were submitted decide. */
  endRound(): void {
    this.submit('', '')
  }

  private submit(vote: Vote, round: string, ...live: number[]): void {
    const { breaker, quorum, isUndecided, submit } = this.parts
    if (!isUndecided() || (round === '' && breaker.currentState === 'closed')) return
    submit([...currentOpenState(breaker), quorum(), vote, round, ...live])
  }
}
