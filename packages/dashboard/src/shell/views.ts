import type { ComponentType } from 'preact'
import { Breakers } from '../views/breakers/breakers.js'
import { DeadLetters } from '../views/dead-letters/dead-letters.js'
import { Overview } from '../views/overview/overview.js'
import { Sessions } from '../views/sessions/sessions.js'

export interface View {
  readonly path: string
  readonly title: string
  readonly Body: ComponentType
}

/** Every view there is, in the order of the menu. */
export const VIEWS: readonly View[] = [
  { path: '/', title: 'Overview', Body: Overview },
  { path: '/breakers', title: 'Breakers', Body: Breakers },
  { path: '/sessions', title: 'Sessions', Body: Sessions },
  { path: '/dead-letters', title: 'Dead letters', Body: DeadLetters },
]
