import { afterEach, beforeEach, describe } from 'vitest'
import type { Store } from '../src/store.js'
import { describeDeadLetters } from './contract/dead-letters.js'
import { describeDurability } from './contract/durability.js'
import { describeHistories } from './contract/histories.js'
import { describeJournals } from './contract/journals.js'
import { describeTables } from './contract/tables.js'

/** The location of the stores of one test. Opening it twice creates two stores on the same data. */
export interface Place {
  /** Opens a store. */
  open(): Promise<Store>
  /** Cleans up after the test. */
  remove(): Promise<void>
}

/** The context of each part of the suite. */
export interface Bench {
  /** The store under test. */
  readonly store: Store
  /** Whether two stores on the same location share their data. */
  readonly shared: boolean
  /** Opens another store on the same location, which is closed after the test. */
  another(): Promise<Store>
}

/**
 * The contract of the store interface, for one backend: `make` creates an empty location. Records of a durable store
 * are available to other stores on the same location, and after closing.
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
