import type { ComponentType } from 'preact'
import { Breakers } from '../views/breakers/breakers.js'
import { Overview } from '../views/overview/overview.js'

export interface View {
  readonly path: string
  readonly title: string
  readonly Body: ComponentType
}

/** Every view there is, in the order of the menu. */
export const VIEWS: readonly View[] = [
  { path: '/', title: 'Overview', Body: Overview },
  { path: '/breakers', title: 'Breakers', Body: Breakers },
]
