/** What a seed runs before the hour of its cluster. */
export const PARTS = ['store histories', 'small cluster'] as const
export type Part = (typeof PARTS)[number]

/** The parts of a seed in a series of seeds: each part runs in every second one, so that a series has more clusters in the same time. */
export const partsOfSeed = (seed: number): readonly Part[] => [PARTS[seed % PARTS.length] as Part]
