// Contrast as WCAG computes it, inside the page.

/** The least contrast of each selector's text with what is behind it. */
export function contrasts(page, selectors) {
  return page.evaluate((wanted) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([red, green, blue]) => {
      const linear = [red, green, blue].map((value) => {
        const part = value / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = rgba(getComputedStyle(at).backgroundColor);
        if (colour[3] === 255) return colour;
      }
      return [255, 255, 255, 255];
    };
    return Object.fromEntries(
      wanted.map((selector) => {
        const all = [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
        const found = all.map((element) => {
          const [one, other] = [rgba(getComputedStyle(element).color), behind(element)].map(luminance);
          return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        });
        return [selector, found.length ? Math.min(...found) : 0];
      }),
    );
  }, selectors);
}
