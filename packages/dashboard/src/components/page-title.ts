import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

/** The title of the item that the page shows; undefined where it shows no single item. */
export const itemTitle = signal<string | undefined>(undefined)

/** Names an item in the title of the browser tab while the component is mounted. */
export function useItemTitle(title: string): void {
  useLayoutEffect(() => {
    itemTitle.value = title
    return () => {
      if (itemTitle.peek() === title) itemTitle.value = undefined
    }
  }, [title])
}
