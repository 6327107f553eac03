import { afterEach, beforeEach, describe } from 'vitest'
import type { Store } from '../src/store.js'
import { describeDeadLetters } from './contract/dead-letters.js'
import { describeDurability } from './contract/durability.js'
import { describeHistories } from './contract/histories.js'
import { describeJournals } from './contract/journals.js'
import { describeTables } from './contract/tables.js'

/** Where stores of one test live: opening twice gives two stores on one place. */
export interface Place {
  /** A store, opened. */
  open(): Promise<Store>
  /** Cleans up after the test. */
  remove(): Promise<void>
}

/** What each part of the suite is given. */
export interface Bench {
  /** The store under test. */
  readonly store: Store
  /** Whether two stores on one place share what they hold. */
  readonly shared: boolean
  /** Another store on the same place, closed with the test. */
  another(): Promise<Store>
}

/**
 * Every sentence of the store's interface, for one backend: `make` gives a fresh and empty place. What a durable store
 * holds is there for others on the same place, and after closing.
 */
export function describeStore(
  name: string,
  make: () => Promise<Place>,
  { durable }: { durable: boolean },
): void {
  describe(`the ${name} store`, () => {
    let store: Store
    let place: Place
    let others: Store[] = []
    const bench: Bench = {
      get store() {
        return store
      },
      shared: durable,
      async another() {
        const other = await place.open()
        others.push(other)
        return other
      },
    }

    beforeEach(async () => {
      place = await make()
      store = await place.open()
    })
    afterEach(async () => {
      await Promise.all([store, ...others].map((each) => each.close()))
      others = []
      await place.remove()
    })

    describeJournals(bench)
    describeDeadLetters(bench)
    describeHistories(bench)
    describeTables(bench)
    if (durable) describeDurability(bench)
  })
}
