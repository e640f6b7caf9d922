// A number in a few significant digits, as Python writes it (draw/words.py): −0.002935, 1.5e+06.

function number(x, digits = 4) {
  const halfway = x.toExponential(60).match(`^(-?\\d\\.\\d{${digits - 1}})50*(e.*)$`); // rounds half to even
  if (halfway && halfway[1].at(-1) % 2 === 0) x = Number(halfway[1] + halfway[2]);
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e").map(Number);
  const isFar = exponent < -4 || exponent >= digits;
  const power = `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  const text = isFar ? `${mantissa}e${power}` : String(Number(x.toPrecision(digits)));
  return text.replaceAll("-", "−");
}
