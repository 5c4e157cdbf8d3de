import { expect, it } from 'vitest';
import { CellsNews } from '../../src/cells/news.js';
import { Hub } from '../../src/engine/shared/hub.js';

it('whoever listens hears cells that come later, and none that has gone', () => {
  const [old, kept, fresh] = [new Hub(), new Hub(), new Hub()];
  const news = new CellsNews([old, kept]);
  const heard: string[] = [];
  const end = news.onWork('q', () => heard.push('q'));
  news.onAnyWork(() => heard.push('any'));
  news.use([kept, fresh]);
  old.wakeAll();
  expect(heard.filter((what) => what === 'q')).toEqual([]);
  fresh.wakeAll();
  expect(heard).toContain('q');
  heard.length = 0;
  end();
  for (const hub of [kept, fresh]) hub.wakeAll();
  expect(heard).not.toContain('q');
});
